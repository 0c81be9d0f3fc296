// Parallel loops: the executor runs tasks, each with an equal, consecutive share of the iterations.
//
//   void or int32 KERNEL_share(captured values..., first, end)   the loop over [first, end)
//   void KERNEL_task(frame, index)                               calls it for task `index`
//
// The frame is on the forking function's stack: { captured values..., a status for each task }.
#include "targets/llvm/kernel_emitter.h"
#include "tensor/passes/parallel_loops.h"

namespace dlcc::targets {

using namespace tensor;

// void task(frame, index)
llvm::Function* KernelEmitter::emit_task(llvm::Function* share, llvm::StructType* frame, int64_t extent,
                                         uint64_t tasks) {
  llvm::Function* f = new_function("_task", b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty()});
  align_stack(*f);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(b_.getContext(), "entry", f));
  auto fields = static_cast<unsigned>(share->arg_size()) - 2;
  std::vector<Value*> operands;
  for (unsigned i = 0; i < fields; ++i)
    operands.push_back(b.CreateLoad(frame->getElementType(i), b.CreateStructGEP(frame, f->getArg(0), i)));
  auto bound = [&](Value* index) {
    Value* product = b.CreateMul(index, b.getInt64(static_cast<uint64_t>(extent)), "", true, true);
    return b.CreateUDiv(product, b.getInt64(tasks));
  };
  operands.push_back(bound(f->getArg(1)));
  operands.push_back(bound(b.CreateAdd(f->getArg(1), b.getInt64(1), "", true, true)));
  Value* status = b.CreateCall(share, operands);
  if (!status->getType()->isVoidTy())
    b.CreateStore(status, b.CreateGEP(b.getInt32Ty(), b.CreateStructGEP(frame, f->getArg(0), fields), f->getArg(1)));
  b.CreateRetVoid();
  return f;
}

void KernelEmitter::emit_parallel(const For& loop, int64_t extent) {
  Captured captured = captured_by(make_stmt(loop));
  llvm::Type* bound = b_.getInt64Ty();
  auto body = [&](KernelEmitter& inner, const std::vector<Value*>& bounds) {
    inner.emit_loop(loop.var, bounds[0], bounds[1], 1, true, Range{0, extent - 1},
                    [&](Value*, std::optional<Range>) { inner.emit(loop.body); });
  };
  llvm::Function* share = emit_outlined_function("_share", function_->getReturnType(), captured, {bound, bound}, body);
  bool can_fail = !function_->getReturnType()->isVoidTy();
  // The caller tests the statuses one by one: one task per thread keeps them few.
  auto tasks = static_cast<uint64_t>(can_fail ? threads_ : count_tasks(loop, extent, threads_, level_.machine));
  std::vector<llvm::Type*> types(share->getFunctionType()->params().drop_back(2));
  auto statuses = static_cast<unsigned>(types.size());
  if (can_fail) types.push_back(llvm::ArrayType::get(b_.getInt32Ty(), tasks));
  auto* frame = llvm::StructType::get(b_.getContext(), types);
  llvm::Function* task = emit_task(share, frame, extent, tasks);

  llvm::BasicBlock& entry = function_->getEntryBlock();
  Value* slot = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(frame, nullptr, "frame");
  unsigned next = 0;
  auto put = [&](Value* v) { b_.CreateStore(v, b_.CreateStructGEP(frame, slot, next++)); };
  for (Value* v : captured.values()) put(v);
  // executor->parallel_for(executor->self, tasks, task, frame)
  Value* executor = function_->getArg(static_cast<unsigned>(kernel_.params.size() + kernel_.scalars.size()));
  Value* self = b_.CreateLoad(b_.getPtrTy(), executor);
  Value* run = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), executor, 1));
  auto* type =
      llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty(), b_.getPtrTy(), b_.getPtrTy()}, false);
  b_.CreateCall(type, run, {self, b_.getInt64(tasks), task, slot});
  if (can_fail) return_first_failure(b_.CreateStructGEP(frame, slot, statuses), tasks);
}

// Shares are consecutive, so the first failing task has the status of a serial loop.
void KernelEmitter::return_first_failure(Value* statuses, uint64_t tasks) {
  for (uint64_t t = 0; t < tasks; ++t) {
    Value* status = b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt32Ty(), statuses, t));
    auto* fails = llvm::BasicBlock::Create(b_.getContext(), "fails", function_);
    auto* holds = llvm::BasicBlock::Create(b_.getContext(), "holds", function_);
    b_.CreateCondBr(b_.CreateICmpEQ(status, b_.getInt32(0)), holds, fails);
    b_.SetInsertPoint(fails);
    b_.CreateRet(status);
    b_.SetInsertPoint(holds);
  }
}

}  // namespace dlcc::targets
