// Multiplication by a power of two. Tensor IR has two multiplications for it, so that a subnormal product is rounded
// once and a large one overflows (FloatMath::scale in tensor/passes/expand_math.cpp):
//
//   x * 2^(n >> 1) * 2^(n - (n >> 1)), where 2^k is the float32 with the bits (k + 127) << 23
//
// AVX-512 computes it with one instruction, vscalefps, which rounds once, too.
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include "targets/llvm/kernel_emitter.h"

namespace dlcc::targets {

namespace {

// The float32 2^n for the exponent that the pattern matches.
template <typename Pattern>
auto power_of_two(const Pattern& n) {
  using namespace llvm::PatternMatch;
  constexpr uint64_t bias = 127, mantissa_bits = 23;
  return m_BitCast(m_Shl(m_Add(n, m_SpecificInt(bias)), m_SpecificInt(mantissa_bits)));
}

// The instruction for vectors of this many float32; not_intrinsic if there is none.
llvm::Intrinsic::ID scaling_of(unsigned lanes) {
  switch (lanes) {
    case 4:
      return llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
    case 8:
      return llvm::Intrinsic::x86_avx512_mask_scalef_ps_256;
    case 16:
      return llvm::Intrinsic::x86_avx512_mask_scalef_ps_512;
    default:
      return llvm::Intrinsic::not_intrinsic;
  }
}

}  // namespace

Value* KernelEmitter::emit_scaling(Value* a, Value* b) {
  using namespace llvm::PatternMatch;
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  if (!type || !type->getElementType()->isFloatTy()) return nullptr;
  if (!llvm::Triple(function_->getParent()->getTargetTriple()).isX86()) return nullptr;
  if (!cpu_.checkFeatures("+avx512f,+avx512vl")) return nullptr;
  const llvm::Intrinsic::ID id = scaling_of(type->getNumElements());
  Value *x = nullptr, *exponent = nullptr, *half = nullptr;
  if (id == llvm::Intrinsic::not_intrinsic || !match(b, power_of_two(m_Sub(m_Value(exponent), m_Value(half)))) ||
      !match(half, m_AShr(m_Specific(exponent), m_One())) ||
      !match(a, m_FMul(m_Value(x), power_of_two(m_Specific(half)))))
    return nullptr;
  llvm::Function* instruction = llvm::Intrinsic::getDeclaration(function_->getParent(), id);
  llvm::Type* mask = instruction->getArg(3)->getType();
  std::vector<Value*> arguments = {x, b_.CreateSIToFP(exponent, type), llvm::PoisonValue::get(type),
                                   llvm::Constant::getAllOnesValue(mask)};
  constexpr uint32_t current_rounding = 4;  // of the control register
  if (instruction->arg_size() > arguments.size()) arguments.push_back(b_.getInt32(current_rounding));
  return b_.CreateCall(instruction, arguments);
}

}  // namespace dlcc::targets
