// Conversions between element types. Narrow floats are held in registers as bit patterns. If the CPU has no instruction
// for a conversion, it is done in integer arithmetic: LLVM would call compiler-rt, which models do not link.
#include <llvm/IR/Intrinsics.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include "support/float_formats.h"
#include "targets/llvm/kernel_emitter.h"

namespace dlcc::targets {

namespace {

bool is_narrow_float(DType t) { return is_float(t) && bits(t) < 32; }

}  // namespace

// Converts to 8 or 16 bits. The float is clamped first. On x86 the conversion to 32 bits and the truncation are then
// vector instructions, while LLVM's saturating conversion is scalar code for each element. NaN gives 0, since its
// comparison with the lower bound is false.
Value* KernelEmitter::float_to_short_integer(Value* v, DType to) {
  const auto [low, high] = integer_limits(to);
  auto number = [&](int64_t value) { return llvm::ConstantFP::get(v->getType(), static_cast<double>(value)); };
  if (is_signed(to)) v = b_.CreateSelect(b_.CreateFCmpUNO(v, v), number(0), v);
  v = b_.CreateSelect(b_.CreateFCmpOGT(v, number(low)), v, number(low));
  v = b_.CreateSelect(b_.CreateFCmpOLT(v, number(high)), v, number(high));
  Value* wide = b_.CreateFPToSI(v, with_lanes_of(v, b_.getInt32Ty()));
  return b_.CreateTrunc(wide, with_lanes_of(v, value_type(to)));
}

Value* KernelEmitter::emit_cast(Value* v, DType from, DType to, bool saturate) {
  if (from == to) return v;
  if (is_narrow_float(from)) return emit_cast(to_float32(v, from), dtype::f32, to, saturate);
  llvm::Type* type = with_lanes_of(v, value_type(to));
  if (is_bool(to))
    return is_float(from) ? b_.CreateFCmpUNE(v, llvm::ConstantFP::get(v->getType(), 0.0))
                          : b_.CreateICmpNE(v, constant_like(v, 0));
  bool from_signed = is_signed(from);
  if (is_narrow_float(to)) {
    // Integers above 2^24 are not exact in float32. They are converted to float64, which is rounded to odd, so that the
    // result is rounded correctly.
    DType through = from == dtype::f64 || (is_integer(from) && bits(from) > 16) ? dtype::f64 : dtype::f32;
    Value* wide = emit_cast(v, from, through, saturate);
    return float32_to_narrow(through == dtype::f64 ? float64_to_float32_odd(wide) : wide, to, saturate);
  }
  if (is_float(to)) {
    if (is_float(from)) return b_.CreateFPCast(v, type);
    return from_signed ? b_.CreateSIToFP(v, type) : b_.CreateUIToFP(v, type);
  }
  if (is_float(from)) {
    if (bits(to) == 8 || bits(to) == 16) return float_to_short_integer(v, to);
    if (bits(to) >= 8)
      return b_.CreateIntrinsic(is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                                {type, v->getType()}, {v});
    DType byte = is_signed(to) ? dtype::i8 : dtype::u8;  // saturates to 8 bits, then to fewer
    Value* wide = emit_cast(v, from, byte, saturate);
    const IntegerLimits limits = integer_limits(to);
    Value* high = constant_like(wide, limits.high);
    if (!is_signed(to)) return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, wide, high);
    wide = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, wide, high);
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, wide, constant_like(wide, limits.low));
  }
  Value* result = b_.CreateIntCast(v, type, from_signed);
  if (bits(to) >= 8) return result;
  Value* unused = constant_like(result, 8 - bits(to));  // an integer of 2 or 4 bits is kept extended to a byte
  result = b_.CreateShl(result, unused);
  return is_signed(to) ? b_.CreateAShr(result, unused) : b_.CreateLShr(result, unused);
}

Value* KernelEmitter::to_float32(Value* v, DType from) {
  llvm::Type *word = with_lanes_of(v, b_.getInt32Ty()), *single = with_lanes_of(v, b_.getFloatTy());
  if (from == dtype::bf16) {
    Value* wide = b_.CreateZExt(v, word);
    return b_.CreateBitCast(b_.CreateShl(wide, constant_like(wide, 16)), single);
  }
  if (from == dtype::f16 && converts_halves())
    return b_.CreateFPExt(b_.CreateBitCast(v, with_lanes_of(v, b_.getHalfTy())), single);
  return from == DType::float8_e8m0fnu_ ? exponent_to_float32(v) : minifloat_to_float32(v, from);
}

// The number 2^(v - 127), whose exponent has the bits v. 2^-127 is subnormal.
Value* KernelEmitter::exponent_to_float32(Value* v) {
  llvm::Type *word = with_lanes_of(v, b_.getInt32Ty()), *single = with_lanes_of(v, b_.getFloatTy());
  Value* exponent = b_.CreateZExt(v, word);
  Value* number = b_.CreateShl(exponent, constant_like(exponent, 23));
  Value* is_smallest = b_.CreateICmpEQ(exponent, constant_like(exponent, 0));
  number = b_.CreateSelect(is_smallest, constant_like(exponent, 0x400000), number);
  Value* is_nan = b_.CreateICmpEQ(exponent, constant_like(exponent, 0xFF));
  return b_.CreateSelect(is_nan, llvm::ConstantFP::getQNaN(single), b_.CreateBitCast(number, single));
}

// The bits, shifted into the fields of a float32, are the number divided by a constant power of two, also if it is
// subnormal. One multiplication corrects the exponent's bias. NEON takes a subnormal float32 for zero; there, a number
// whose exponent field is zero is the product of its mantissa, an integer, and a power of two.
Value* KernelEmitter::minifloat_to_float32(Value* v, DType from) {
  const NarrowFloat& f = narrow_float(from);
  llvm::Type *word = with_lanes_of(v, b_.getInt32Ty()), *single = with_lanes_of(v, b_.getFloatTy());
  Value* pattern = b_.CreateZExt(v, word);
  Value* magnitude = b_.CreateAnd(pattern, constant_like(pattern, (int64_t{1} << f.sign_shift()) - 1));
  Value* shifted = b_.CreateBitCast(b_.CreateShl(magnitude, constant_like(pattern, 23 - f.mantissa)), single);
  Value* number = b_.CreateFMul(shifted, llvm::ConstantFP::get(single, power_of_two(127 - f.bias)));
  if (is_arm32() && cpu_.checkFeatures("+neon")) {
    Value* mantissa = b_.CreateSIToFP(magnitude, single);
    Value* product = b_.CreateFMul(mantissa, llvm::ConstantFP::get(single, power_of_two(1 - f.bias - f.mantissa)));
    Value* has_exponent = b_.CreateICmpUGE(magnitude, constant_like(pattern, int64_t{1} << f.mantissa));
    number = b_.CreateSelect(has_exponent, number, product);
  }
  if (f.has_infinity) {
    Value* infinity = b_.CreateICmpEQ(magnitude, constant_like(pattern, f.infinity()));
    number = b_.CreateSelect(infinity, llvm::ConstantFP::getInfinity(single), number);
  }
  Value* nan = f.unsigned_zero_nan
                   ? b_.CreateICmpEQ(pattern, constant_like(pattern, int64_t{1} << f.sign_shift()))
                   : b_.CreateICmpUGT(magnitude, constant_like(pattern, f.has_infinity ? f.infinity() : f.largest()));
  Value* quiet = llvm::ConstantFP::getQNaN(single);
  if (f.has_infinity) {  // keeps the NaN payload, as F16C does
    Value* payload = b_.CreateOr(b_.CreateBitCast(shifted, word), constant_like(pattern, 0x7FC00000));
    quiet = b_.CreateBitCast(payload, single);
  }
  if (f.has_nan) number = b_.CreateSelect(nan, quiet, number);
  Value* sign =
      b_.CreateShl(b_.CreateLShr(pattern, constant_like(pattern, f.sign_shift())), constant_like(pattern, 31));
  return b_.CreateBitCast(b_.CreateOr(b_.CreateBitCast(number, word), sign), single);
}

Value* KernelEmitter::float32_to_narrow(Value* v, DType to, bool saturate) {
  if (to == dtype::f16 && converts_halves()) {
    Value* half = b_.CreateFPTrunc(v, with_lanes_of(v, b_.getHalfTy()));
    return b_.CreateBitCast(half, with_lanes_of(v, b_.getInt16Ty()));
  }
  if (to != dtype::bf16 && to != DType::float8_e8m0fnu_) return float32_to_minifloat(v, to, saturate);
  Value* pattern = b_.CreateBitCast(v, with_lanes_of(v, b_.getInt32Ty()));
  if (to == DType::float8_e8m0fnu_)  // the exponent
    return b_.CreateTrunc(b_.CreateLShr(pattern, constant_like(pattern, 23)), with_lanes_of(v, b_.getInt8Ty()));
  Value *sixteen = constant_like(pattern, 16), *top = b_.CreateLShr(pattern, sixteen);
  Value* last = b_.CreateAnd(top, constant_like(pattern, 1));
  Value* rounded = b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(pattern, constant_like(pattern, 0x7FFF)), last), sixteen);
  Value* result = b_.CreateSelect(b_.CreateFCmpUNO(v, v), b_.CreateOr(top, constant_like(pattern, 0x40)), rounded);
  return b_.CreateTrunc(result, with_lanes_of(v, b_.getInt16Ty()));
}

Value* KernelEmitter::float32_to_minifloat(Value* v, DType to, bool saturate) {
  const NarrowFloat& f = narrow_float(to);
  llvm::Type *word = with_lanes_of(v, b_.getInt32Ty()), *single = v->getType();
  Value* pattern = b_.CreateBitCast(v, word);
  auto number = [&](int64_t n) { return constant_like(pattern, n); };
  Value* magnitude = b_.CreateAnd(pattern, number(0x7FFFFFFF));

  // Normal results: round the mantissa in place (a carry moves into the exponent), then correct the exponent's bias.
  int drop = 23 - f.mantissa;
  Value* last = b_.CreateAnd(b_.CreateLShr(magnitude, number(drop)), number(1));
  Value* rounded = b_.CreateAdd(b_.CreateAdd(magnitude, number((1 << (drop - 1)) - 1)), last);
  Value* normal = b_.CreateSub(b_.CreateLShr(rounded, number(drop)), number(int64_t{127 - f.bias} << f.mantissa));
  // Subnormal results: adding a power of two whose unit in the last place is the smallest subnormal rounds them.
  int exponent = 1 - f.bias - f.mantissa + 23;
  Value* magic = llvm::ConstantFP::get(single, power_of_two(exponent));
  Value* sum = b_.CreateBitCast(b_.CreateFAdd(b_.CreateBitCast(magnitude, single), magic), word);
  Value* subnormal = b_.CreateSub(sum, number(int64_t{exponent + 127} << 23));
  Value* is_normal = b_.CreateICmpUGE(magnitude, number(int64_t{128 - f.bias} << 23));
  Value* result = b_.CreateSelect(is_normal, normal, subnormal);

  int64_t nan = f.unsigned_zero_nan || !f.has_nan ? int64_t{1} << f.sign_shift()
                : f.mantissa == 10                ? 0x7E00
                                                  : (int64_t{1} << f.sign_shift()) - 1;
  int64_t overflow = !f.has_nan || (saturate && to != dtype::f16) ? f.largest() : f.has_infinity ? f.infinity() : nan;
  Value* too_large = b_.CreateICmpSGT(result, number(f.largest()));
  result = b_.CreateSelect(too_large, number(overflow), result);
  Value* nan_pattern = number(nan);
  if (to == dtype::f16)  // keeps the NaN payload, as F16C does
    nan_pattern = b_.CreateOr(nan_pattern, b_.CreateAnd(b_.CreateLShr(magnitude, number(drop)), number(0x1FF)));
  result = b_.CreateSelect(b_.CreateFCmpUNO(v, v), nan_pattern, result);
  Value* sign = b_.CreateShl(b_.CreateLShr(pattern, number(31)), number(f.sign_shift()));
  if (f.unsigned_zero_nan)  // neither zero nor NaN has a sign
    sign = b_.CreateSelect(b_.CreateICmpEQ(b_.CreateAnd(result, number((1 << f.sign_shift()) - 1)), number(0)),
                           number(0), sign);
  return b_.CreateTrunc(b_.CreateOr(result, sign), with_lanes_of(v, storage_type(to)));
}

// Rounds to odd, so that a second rounding to a narrower format equals a single rounding (Boldo and Melquiond, 2008).
Value* KernelEmitter::float64_to_float32_odd(Value* v) {
  llvm::Type *single = with_lanes_of(v, b_.getFloatTy()), *word = with_lanes_of(v, b_.getInt32Ty());
  Value* near = b_.CreateFPTrunc(v, single);
  Value* back = b_.CreateFPExt(near, v->getType());
  Value* pattern = b_.CreateBitCast(near, word);
  Value* beyond = b_.CreateFCmpOGT(intrinsic(llvm::Intrinsic::fabs, {back}), intrinsic(llvm::Intrinsic::fabs, {v}));
  Value* towards_zero = b_.CreateSelect(beyond, b_.CreateSub(pattern, constant_like(pattern, 1)), pattern);
  Value* odd = b_.CreateOr(towards_zero, constant_like(pattern, 1));
  return b_.CreateBitCast(b_.CreateSelect(b_.CreateFCmpONE(back, v), odd, pattern), single);
}

}  // namespace dlcc::targets
