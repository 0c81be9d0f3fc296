// Integer arithmetic that is defined for all operands (tensor/ir.h), divisions of indices by constants, and fused
// multiply-add on CPUs without the instruction.
#include <llvm/MC/MCSubtargetInfo.h>

#include <limits>

#include "targets/llvm/kernel_emitter.h"

namespace dlcc::targets {

using namespace tensor;

// ---- integers --------------------------------------------------------------------------------------------

// `bounded`: the result does not overflow.
Value* KernelEmitter::emit_integer_binary(BinaryOp op, Value* a, Value* b, DType type, bool bounded) {
  switch (op) {
    case BinaryOp::add:
      return b_.CreateAdd(a, b, "", false, bounded);
    case BinaryOp::sub:
      return b_.CreateSub(a, b, "", false, bounded);
    case BinaryOp::mul:
      return b_.CreateMul(a, b, "", false, bounded);
    case BinaryOp::div:
    case BinaryOp::rem:
    case BinaryOp::floor_div:
    case BinaryOp::floor_mod:
      return emit_division(op, a, b, is_signed(type));
    case BinaryOp::logical_and:
    case BinaryOp::bit_and:
      return b_.CreateAnd(a, b);
    case BinaryOp::logical_or:
    case BinaryOp::bit_or:
      return b_.CreateOr(a, b);
    case BinaryOp::logical_xor:
    case BinaryOp::bit_xor:
      return b_.CreateXor(a, b);
    case BinaryOp::shl:
    case BinaryOp::shr:
      return emit_shift(op, a, b, is_signed(type));
    default:
      DLCC_UNREACHABLE("kernel {}: not an integer operation", kernel_.name);
  }
}

namespace {

// n / divisor == n * factor >> shift for n in [0, most].
struct Reciprocal {
  int64_t factor;
  int shift;
};

// Division by multiplication (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI
// 1994). The factor is 2^shift / divisor rounded up; with error = factor * divisor - 2^shift the product exceeds the
// quotient by n * error / (divisor * 2^shift), which must be less than 1 / divisor. Null if the factor does not fit a
// 32-bit immediate.
std::optional<Reciprocal> reciprocal(int64_t divisor, int64_t most) {
  constexpr int64_t largest = std::numeric_limits<int32_t>::max();
  for (int shift = 0; shift < 62; ++shift) {
    int64_t power = int64_t{1} << shift, factor = (power - 1) / divisor + 1, error;
    if (factor > largest) return std::nullopt;
    if (!__builtin_mul_overflow(most, factor * divisor - power, &error) && error < power)
      return Reciprocal{factor, shift};
  }
  return std::nullopt;
}

}  // namespace

// The quotient or remainder of a non-negative scalar divided by a positive constant, without a correction of the sign.
// If both have at most 31 bits, it is computed by multiplication. Null for other operands.
Value* KernelEmitter::emit_index_division(const Binary& x) {
  bool is_remainder = x.op == BinaryOp::floor_mod || x.op == BinaryOp::rem;
  if (!is_remainder && x.op != BinaryOp::floor_div && x.op != BinaryOp::div) return nullptr;
  auto divisor = x.a.type() == dtype::i64 ? constant_integer(x.b) : std::nullopt;
  auto range = divisor ? range_of(x.a, ranges_) : std::nullopt;
  if (!range || *divisor < 1 || range->low < 0) return nullptr;
  Value* a = emit(x.a);
  if (is_vector(a)) return nullptr;
  constexpr int64_t largest = std::numeric_limits<int32_t>::max();
  auto by = range->high <= largest && *divisor <= largest ? reciprocal(*divisor, range->high) : std::nullopt;
  if (!by) {
    Value* b = b_.getInt64(static_cast<uint64_t>(*divisor));
    return is_remainder ? b_.CreateURem(a, b) : b_.CreateUDiv(a, b);
  }
  auto times = [&](Value* v, int64_t factor) {
    return b_.CreateMul(v, b_.getInt64(static_cast<uint64_t>(factor)), "", true, true);
  };
  Value* quotient = b_.CreateLShr(times(a, by->factor), static_cast<uint64_t>(by->shift));
  return is_remainder ? b_.CreateSub(a, times(quotient, *divisor), "", true, true) : quotient;
}

// n / 0 and n % 0 are 0, and the smallest integer divided by -1 is itself. LLVM leaves these cases undefined, so both
// divide by 1, which gives both remainders and the second quotient. For n / 0, a select gives 0.
Value* KernelEmitter::emit_division(BinaryOp op, Value* a, Value* b, bool is_signed) {
  Value *zero = constant_like(b, 0), *one = constant_like(b, 1);
  Value* is_zero = b_.CreateICmpEQ(b, zero);
  Value* unsafe = is_zero;
  if (is_signed) {
    Value* smallest =
        llvm::ConstantInt::get(a->getType(), llvm::APInt::getSignedMinValue(a->getType()->getScalarSizeInBits()));
    unsafe = b_.CreateOr(is_zero, b_.CreateAnd(b_.CreateICmpEQ(a, smallest), b_.CreateICmpEQ(b, constant_like(b, -1))));
  }
  Value* divisor = b_.CreateSelect(unsafe, one, b);
  bool quotient = op == BinaryOp::div || op == BinaryOp::floor_div;
  Value* q = !quotient ? nullptr : is_signed ? b_.CreateSDiv(a, divisor) : b_.CreateUDiv(a, divisor);
  if (is_signed && (op == BinaryOp::floor_div || op == BinaryOp::floor_mod)) {
    Value* r = b_.CreateSRem(a, divisor);
    // The remainder has the sign of the dividend. If the divisor has the other sign, the floor is one less than the
    // truncated quotient.
    Value* below = b_.CreateAnd(b_.CreateICmpNE(r, zero), b_.CreateICmpSLT(b_.CreateXor(r, divisor), zero));
    if (op == BinaryOp::floor_mod) return b_.CreateSelect(below, b_.CreateAdd(r, divisor), r);
    q = b_.CreateSelect(below, b_.CreateSub(q, one), q);
  } else if (!quotient) {
    return is_signed ? b_.CreateSRem(a, divisor) : b_.CreateURem(a, divisor);
  }
  return b_.CreateSelect(is_zero, zero, q);
}

Value* KernelEmitter::emit_shift(BinaryOp op, Value* a, Value* b, bool is_signed) {
  int64_t width = a->getType()->getScalarSizeInBits();
  Value* in_range = b_.CreateICmpULT(b, constant_like(b, width));
  auto shift = [&](Value* amount) {
    if (op == BinaryOp::shl) return b_.CreateShl(a, amount);
    return is_signed ? b_.CreateAShr(a, amount) : b_.CreateLShr(a, amount);
  };
  if (auto* known = llvm::dyn_cast<llvm::Constant>(in_range); known && known->isAllOnesValue()) return shift(b);
  if (op == BinaryOp::shr && is_signed) return shift(b_.CreateSelect(in_range, b, constant_like(b, width - 1)));
  return b_.CreateSelect(in_range, shift(b_.CreateSelect(in_range, b, constant_like(b, 0))), constant_like(a, 0));
}

// ---- fused multiply-add ----------------------------------------------------------------------------------

namespace {

// x + y as the rounded sum and its exact error (TwoSum: Knuth, "The Art of Computer Programming", volume 2, section
// 4.2.2).
std::pair<Value*, Value*> two_sum(llvm::IRBuilder<>& b, Value* x, Value* y) {
  Value* sum = b.CreateFAdd(x, y);
  Value* z = b.CreateFSub(sum, x);
  return {sum, b.CreateFAdd(b.CreateFSub(x, b.CreateFSub(sum, z)), b.CreateFSub(y, z))};
}

// x * y as the rounded product and its exact error, barring overflow and underflow (Dekker, "A Floating-Point Technique
// for Extending the Available Precision", 1971, with Veltkamp's splitting).
std::pair<Value*, Value*> two_product(llvm::IRBuilder<>& b, Value* x, Value* y) {
  auto split = [&](Value* v) {
    Value* c = b.CreateFMul(v, llvm::ConstantFP::get(v->getType(), 134217729.0));  // 2^27 + 1
    Value* high = b.CreateFSub(c, b.CreateFSub(c, v));
    return std::pair(high, b.CreateFSub(v, high));
  };
  auto [xh, xl] = split(x);
  auto [yh, yl] = split(y);
  Value* p = b.CreateFMul(x, y);
  Value* e = b.CreateFSub(b.CreateFMul(xh, yh), p);
  e = b.CreateFAdd(b.CreateFAdd(e, b.CreateFMul(xh, yl)), b.CreateFMul(xl, yh));
  return {p, b.CreateFAdd(e, b.CreateFMul(xl, yl))};
}

}  // namespace

bool KernelEmitter::has_fma(llvm::Type* type) const {
  if (!level_.machine.has_fma) return false;
  if (!type->getScalarType()->isDoubleTy()) return true;
  if (is_riscv()) return cpu_.checkFeatures("+d");
  return !is_arm32() || cpu_.checkFeatures("+vfp4d16");
}

// On CPUs without the instruction, where LLVM would call libm: the exact sum rounded to odd in float64 and then to the
// result (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
Value* KernelEmitter::emit_fma(Value* a, Value* b, Value* c) {
  if (has_fma(a->getType())) return intrinsic(llvm::Intrinsic::fma, {a, b, c});
  llvm::Type *result = a->getType(), *wide = with_lanes_of(a, b_.getDoubleTy()),
             *word = with_lanes_of(a, b_.getInt64Ty());
  auto sum_to_odd = [&](Value* x, Value* y) {
    auto [sum, error] = two_sum(b_, x, y);
    Value* bits = b_.CreateBitCast(sum, word);
    Value* even = b_.CreateICmpEQ(b_.CreateAnd(bits, constant_like(bits, 1)), constant_like(bits, 0));
    Value* inexact = b_.CreateFCmpONE(error, llvm::ConstantFP::get(wide, 0.0));
    // The neighbour towards the error is odd when the sum is even.
    Value* same_sign = b_.CreateICmpSGE(b_.CreateXor(bits, b_.CreateBitCast(error, word)), constant_like(bits, 0));
    Value* odd = b_.CreateAdd(bits, b_.CreateSelect(same_sign, constant_like(bits, 1), constant_like(bits, -1)));
    return b_.CreateBitCast(b_.CreateSelect(b_.CreateAnd(even, inexact), odd, bits), wide);
  };
  if (result->getScalarType()->isFloatTy()) {
    Value* product = b_.CreateFMul(b_.CreateFPExt(a, wide), b_.CreateFPExt(b, wide));  // exact
    return b_.CreateFPTrunc(sum_to_odd(product, b_.CreateFPExt(c, wide)), result);
  }
  auto [product, product_error] = two_product(b_, a, b);
  auto [low, low_error] = two_sum(b_, c, product_error);
  auto [high, high_error] = two_sum(b_, product, low);
  Value* exact = b_.CreateFAdd(high, sum_to_odd(low_error, high_error));
  // If operands are infinite or NaN, the errors are NaN; if the sum is zero, its sign is lost. In these cases a * b + c
  // is correct.
  Value* plain = b_.CreateFAdd(b_.CreateFMul(a, b), c);
  return b_.CreateSelect(b_.CreateFCmpONE(exact, llvm::ConstantFP::get(result, 0.0)), exact, plain);
}

}  // namespace dlcc::targets
