// Rounding to integers and square roots. Where the CPU has no instruction, as microcontrollers without an FPU or x86-64
// without SSE4.1, LLVM would call the C library; models do not link it.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsARM.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <cmath>

#include "targets/llvm/kernel_emitter.h"
#include "tensor/quantization.h"

namespace dlcc::targets {

using namespace tensor;

namespace {

// |x| + 2^p - 2^p rounds to the nearest even integer, where p is the number of bits of the fraction; larger numbers are
// integers. A directed rounding then corrects the result by 1. The sign is that of x, also for a zero.
Value* round_by_additions(llvm::IRBuilder<>& b, UnaryOp op, Value* x) {
  llvm::Type* type = x->getType();
  auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
  auto with_sign = [&](Value* magnitude) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, x); };
  Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* limit = number(std::ldexp(1.0, type->getScalarType()->isDoubleTy() ? 52 : 23));
  Value* nearest = b.CreateFSub(b.CreateFAdd(magnitude, limit), limit);
  Value *one = number(1), *rounded = nullptr;
  if (op == UnaryOp::trunc) {
    rounded = b.CreateSelect(b.CreateFCmpOGT(nearest, magnitude), b.CreateFSub(nearest, one), nearest);
  } else {
    rounded = with_sign(nearest);
    if (op == UnaryOp::floor)
      rounded = b.CreateSelect(b.CreateFCmpOGT(rounded, x), b.CreateFSub(rounded, one), rounded);
    if (op == UnaryOp::ceil) rounded = b.CreateSelect(b.CreateFCmpOLT(rounded, x), b.CreateFAdd(rounded, one), rounded);
  }
  return b.CreateSelect(b.CreateFCmpOLT(magnitude, limit), with_sign(rounded), x);
}

// Defines a function for the square root of float32 or float64, correctly rounded: the root of the significand bit by
// bit, as by hand, in integers; the remainder and one more bit of the root decide the rounding.
llvm::Function* define_square_root(llvm::Module& module, llvm::Type* type) {
  const std::string name = type->isDoubleTy() ? "square_root_f64" : "square_root_f32";
  if (llvm::Function* known = module.getFunction(name)) return known;
  const unsigned width = type->getScalarSizeInBits(), fraction = type->isDoubleTy() ? 52 : 23;
  const int64_t bias = type->isDoubleTy() ? 1023 : 127;
  auto* function = llvm::Function::Create(llvm::FunctionType::get(type, {type}, false),
                                          llvm::GlobalValue::InternalLinkage, name, module);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::NoInline);
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto* word = llvm::IntegerType::get(context, width);
  auto integer = [&](int64_t value) { return llvm::ConstantInt::get(word, static_cast<uint64_t>(value), true); };
  auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* loop = llvm::BasicBlock::Create(context, "bit", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);

  // A subnormal number is multiplied by 2^(2 k), its root divided by 2^k.
  b.SetInsertPoint(entry);
  Value* x = function->getArg(0);
  const int shift = static_cast<int>(fraction / 2 + 1);
  Value* is_small = b.CreateFCmpOLT(x, number(std::ldexp(1.0, static_cast<int>(1 - bias))));
  Value* scaled = b.CreateSelect(is_small, b.CreateFMul(x, number(std::ldexp(1.0, 2 * shift))), x);
  Value* bits = b.CreateBitCast(scaled, word);
  Value* exponent = b.CreateSub(b.CreateAShr(bits, fraction), integer(bias));
  Value* significand =
      b.CreateOr(b.CreateAnd(bits, integer((int64_t{1} << fraction) - 1)), integer(int64_t{1} << fraction));
  significand = b.CreateShl(significand, b.CreateAdd(b.CreateAnd(exponent, integer(1)), integer(1)));
  b.CreateBr(loop);

  b.SetInsertPoint(loop);
  auto variable = [&](Value* first) {
    llvm::PHINode* v = b.CreatePHI(word, 2);
    v->addIncoming(first, entry);
    return v;
  };
  llvm::PHINode *rest = variable(significand), *twice_root = variable(integer(0)), *root = variable(integer(0)),
                *bit = variable(integer(int64_t{1} << (fraction + 1)));
  Value* subtrahend = b.CreateAdd(twice_root, bit);
  Value* fits = b.CreateICmpULE(subtrahend, rest);
  Value* next_twice = b.CreateSelect(fits, b.CreateAdd(subtrahend, bit), twice_root);
  Value* next_rest = b.CreateShl(b.CreateSelect(fits, b.CreateSub(rest, subtrahend), rest), 1);
  Value* next_root = b.CreateSelect(fits, b.CreateAdd(root, bit), root);
  Value* next_bit = b.CreateLShr(bit, 1);
  rest->addIncoming(next_rest, loop), twice_root->addIncoming(next_twice, loop);
  root->addIncoming(next_root, loop), bit->addIncoming(next_bit, loop);
  b.CreateCondBr(b.CreateICmpEQ(next_bit, integer(0)), done, loop);

  b.SetInsertPoint(done);
  Value* inexact = b.CreateICmpNE(next_rest, integer(0));
  Value* odd = b.CreateAnd(next_root, integer(1));
  Value* rounded = b.CreateAdd(next_root, b.CreateSelect(inexact, odd, integer(0)));
  Value* pattern = b.CreateAdd(b.CreateLShr(rounded, 1), integer((bias - 1) << fraction));
  pattern = b.CreateAdd(pattern, b.CreateShl(b.CreateAShr(exponent, 1), fraction));
  Value* result = b.CreateBitCast(pattern, type);
  result = b.CreateSelect(is_small, b.CreateFMul(result, number(std::ldexp(1.0, -shift))), result);
  // The root of a zero, of infinity and of NaN is the number itself; that of a negative number is NaN.
  Value* is_regular =
      b.CreateAnd(b.CreateFCmpOGT(x, number(0)), b.CreateFCmpONE(x, llvm::ConstantFP::getInfinity(type)));
  Value* other = b.CreateSelect(b.CreateFCmpOLT(x, number(0)), llvm::ConstantFP::getQNaN(type), x);
  b.CreateRet(b.CreateSelect(is_regular, result, other));
  return function;
}

}  // namespace

Value* KernelEmitter::emit_rounding(UnaryOp op, Value* x) {
  const bool is_double = x->getType()->getScalarType()->isDoubleTy();
  bool has_instruction = true;
  if (is_arm32())
    has_instruction = !is_vector(x) && cpu_.checkFeatures(is_double ? "+fp-armv8d16" : "+fp-armv8d16sp");
  else if (is_riscv())  // LLVM rounds by a conversion to an integer of as many bits, or by an instruction of Zfa
    has_instruction = !is_vector(x) && cpu_.checkFeatures(is_double ? "+d,+64bit" : "+f") &&
                      (is_double || op != UnaryOp::round_even || !cpu_.checkFeatures("+zfa"));  // LLVM 19 has no rule
  else if (cpu_.getTargetTriple().isX86())
    has_instruction = cpu_.checkFeatures("+sse4.1");
  if (!has_instruction) return round_by_additions(b_, op, x);
  switch (op) {
    case UnaryOp::floor:
      return intrinsic(llvm::Intrinsic::floor, {x});
    case UnaryOp::ceil:
      return intrinsic(llvm::Intrinsic::ceil, {x});
    case UnaryOp::trunc:
      return intrinsic(llvm::Intrinsic::trunc, {x});
    default:
      // LLVM 19 has no rule for `roundeven` on 32-bit ARM. The rounding mode is to the nearest even number.
      return intrinsic(is_arm32() ? llvm::Intrinsic::nearbyint : llvm::Intrinsic::roundeven, {x});
  }
}

// The quantization of a float32. `vcvtr` rounds to the nearest even integer, saturates to 32 bits and converts NaN to
// 0. The sum with the offset cannot overflow after a saturation to 16 bits; beyond them the result is saturated, too. A
// sum with NaN gives 0.
Value* KernelEmitter::emit_rounded_cast(const Cast& cast, DType to) {
  if (lanes_ || !is_arm32() || !cpu_.checkFeatures("+vfp2sp")) return nullptr;
  auto rounded_to_int32 = [&](Value* x) {
    return b_.CreateBitCast(b_.CreateIntrinsic(llvm::Intrinsic::arm_vcvtr, {x->getType()}, {x}), b_.getInt32Ty());
  };
  auto is_rounding = [](const Unary* x) { return x && x->op == UnaryOp::round_even && x->a.type() == dtype::f32; };
  if (const Unary* x = as<Unary>(cast.a); to == dtype::i32 && is_rounding(x)) return rounded_to_int32(emit(x->a));
  const auto quantization = bits(to) == 8 ? tensor::as_quantization(cast, to) : std::nullopt;
  if (!quantization || std::abs(quantization->zero) > UINT8_MAX) return nullptr;
  llvm::Module& module = *function_->getParent();
  auto saturated = [&](bool is_signed, Value* v, unsigned bits) {
    const auto id = is_signed ? llvm::Intrinsic::arm_ssat : llvm::Intrinsic::arm_usat;
    return b_.CreateCall(llvm::Intrinsic::getDeclaration(&module, id), {v, b_.getInt32(bits)});
  };
  Value* x = emit(quantization->value);
  Value* number = rounded_to_int32(x);
  const int64_t offset = quantization->zero;
  if (offset != 0) number = b_.CreateAdd(saturated(true, number, 16), b_.getInt32(static_cast<uint32_t>(offset)));
  number = saturated(is_signed(to), number, 8);
  if (offset != 0) number = b_.CreateSelect(b_.CreateFCmpUNO(x, x), b_.getInt32(0), number);
  return b_.CreateTrunc(number, b_.getInt8Ty());
}

Value* KernelEmitter::emit_square_root(Value* x) {
  llvm::Type* type = x->getType()->getScalarType();
  bool has_instruction = true;
  if (is_arm32()) has_instruction = cpu_.checkFeatures(type->isDoubleTy() ? "+vfp2" : "+vfp2sp");
  if (is_riscv()) has_instruction = cpu_.checkFeatures(type->isDoubleTy() ? "+d" : "+f");
  if (has_instruction) return intrinsic(llvm::Intrinsic::sqrt, {x});
  llvm::Function* function = define_square_root(*function_->getParent(), type);
  for (const char* attribute : {"target-cpu", "target-features"})
    if (function_->hasFnAttribute(attribute)) function->addFnAttr(function_->getFnAttribute(attribute));
  if (!is_vector(x)) return b_.CreateCall(function, {x});
  Value* result = llvm::PoisonValue::get(x->getType());
  const auto lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  for (unsigned lane = 0; lane < lanes; ++lane)
    result = b_.CreateInsertElement(result, b_.CreateCall(function, {b_.CreateExtractElement(x, lane)}), lane);
  return result;
}

}  // namespace dlcc::targets
