// Emits the expressions of the program's scalars (lower/program.h) by the rules for expressions of kernels.
#include "targets/llvm/kernel_emitter.h"
#include "tensor/visit.h"

namespace dlcc::targets {

Value* KernelEmitter::emit_at(llvm::IRBuilderBase& at, const tensor::Expr& e, const ScalarValues& values) {
  b_.SetInsertPoint(at.GetInsertBlock());
  b_.SetCurrentDebugLocation(at.getCurrentDebugLocation());
  memos_.emplace_back();
  for (const tensor::Var& v : tensor::variables_in(e)) bind(v, values.at(v), false, std::nullopt);
  Value* result = emit(e);
  at.SetInsertPoint(b_.GetInsertBlock());
  return result;
}

Value* emit_scalar(llvm::IRBuilderBase& at, const tensor::Expr& e, const ScalarValues& values, const CodeLevel& level,
                   const llvm::MCSubtargetInfo& cpu) {
  tensor::Kernel no_kernel;
  return KernelEmitter(level, cpu, no_kernel, at.GetInsertBlock()->getParent(), 1, nullptr).emit_at(at, e, values);
}

}  // namespace dlcc::targets
