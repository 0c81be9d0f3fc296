// Parallel loops: the executor runs tasks, each with an equal, consecutive share of the iterations.
//
//   void or int32 KERNEL_share(captured values..., first, end)   the loop over [first, end)
//   void KERNEL_task(frame, index)                               calls it for task `index`
//
// The frame is on the forking function's stack: { captured values..., the extent if it is symbolic, a status for each
// task }. A loop of symbolic extent has a constant number of tasks, whose shares are found at run time. At sizes for
// which a loop costs less than a fork, it is one call of the share on this thread.
#include <algorithm>

#include "targets/llvm/kernel_emitter.h"
#include "tensor/passes/parallel_loops.h"

namespace dlcc::targets {

using namespace tensor;

// void task(frame, index)
llvm::Function* KernelEmitter::emit_task(llvm::Function* share, llvm::StructType* frame, Value* extent,
                                         uint64_t tasks) {
  llvm::Function* f = new_function("_task", b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty()});
  align_stack(*f);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(b_.getContext(), "entry", f));
  auto fields = static_cast<unsigned>(share->arg_size()) - 2;
  auto field = [&](unsigned i) {
    return b.CreateLoad(frame->getElementType(i), b.CreateStructGEP(frame, f->getArg(0), i));
  };
  std::vector<Value*> operands;
  for (unsigned i = 0; i < fields; ++i) operands.push_back(field(i));
  if (!llvm::isa<llvm::Constant>(extent)) extent = field(fields++);
  auto bound = [&](Value* index) {
    return b.CreateUDiv(b.CreateMul(index, extent, "", true, true), b.getInt64(tasks));
  };
  operands.push_back(bound(f->getArg(1)));
  operands.push_back(bound(b.CreateAdd(f->getArg(1), b.getInt64(1), "", true, true)));
  Value* status = b.CreateCall(share, operands);
  if (!status->getType()->isVoidTy())
    b.CreateStore(status, b.CreateGEP(b.getInt32Ty(), b.CreateStructGEP(frame, f->getArg(0), fields), f->getArg(1)));
  b.CreateRetVoid();
  return f;
}

void KernelEmitter::emit_parallel(const For& loop, Value* extent, int64_t typical) {
  Captured captured = captured_by(make_stmt(loop));
  std::optional<Range> range;
  if (auto known = range_of(loop.extent, ranges_)) range = Range{0, std::max<int64_t>(known->high - 1, 0)};
  llvm::Type* bound = b_.getInt64Ty();
  auto body = [&](KernelEmitter& inner, const std::vector<Value*>& bounds) {
    inner.emit_loop(loop.var, bounds[0], bounds[1], 1, true, range,
                    [&](Value*, std::optional<Range>) { inner.emit(loop.body); });
  };
  llvm::Function* share = emit_outlined_function("_share", function_->getReturnType(), captured, {bound, bound}, body);
  // The caller tests the statuses one by one: one task per thread keeps them few.
  const bool can_fail = !function_->getReturnType()->isVoidTy();
  auto tasks = static_cast<uint64_t>(can_fail ? threads_ : count_tasks(loop, typical, threads_, level_.machine));
  const Dim cost = cost_in_sizes(loop, level_.machine);
  if (cost.is_constant() || cost.is_overflow()) return fork(share, captured, extent, tasks);
  auto* few = llvm::BasicBlock::Create(b_.getContext(), "few", function_);
  auto* many = llvm::BasicBlock::Create(b_.getContext(), "many", function_);
  auto* after = llvm::BasicBlock::Create(b_.getContext(), "shared", function_);
  const auto fork_cost = static_cast<uint64_t>(level_.machine.fork_cost);
  b_.CreateCondBr(b_.CreateICmpULT(value_of(cost), b_.getInt64(fork_cost)), few, many);
  b_.SetInsertPoint(few);
  std::vector<Value*> all = captured.values();
  all.push_back(b_.getInt64(0)), all.push_back(extent);
  Value* status = b_.CreateCall(share, all);
  if (can_fail) return_failure(status);
  b_.CreateBr(after);
  b_.SetInsertPoint(many);
  fork(share, captured, extent, tasks);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void KernelEmitter::fork(llvm::Function* share, const Captured& captured, Value* extent, uint64_t tasks) {
  const bool can_fail = !function_->getReturnType()->isVoidTy();
  std::vector<Value*> fields = captured.values();
  if (!llvm::isa<llvm::Constant>(extent)) fields.push_back(extent);
  std::vector<llvm::Type*> types;
  for (Value* v : fields) types.push_back(v->getType());
  auto statuses = static_cast<unsigned>(types.size());
  if (can_fail) types.push_back(llvm::ArrayType::get(b_.getInt32Ty(), tasks));
  auto* frame = llvm::StructType::get(b_.getContext(), types);
  llvm::Function* task = emit_task(share, frame, extent, tasks);

  llvm::BasicBlock& entry = function_->getEntryBlock();
  Value* slot = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(frame, nullptr, "frame");
  for (unsigned i = 0; i < fields.size(); ++i) b_.CreateStore(fields[i], b_.CreateStructGEP(frame, slot, i));
  // executor->parallel_for(executor->self, tasks, task, frame)
  Value* executor = function_->getArg(static_cast<unsigned>(kernel_.params.size() + kernel_.scalars.size()));
  Value* self = b_.CreateLoad(b_.getPtrTy(), executor);
  Value* run = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), executor, 1));
  auto* type =
      llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty(), b_.getPtrTy(), b_.getPtrTy()}, false);
  b_.CreateCall(type, run, {self, b_.getInt64(tasks), task, slot});
  // Shares are consecutive, so the first failing task has the status of a serial loop.
  Value* first = can_fail ? b_.CreateStructGEP(frame, slot, statuses) : nullptr;
  for (uint64_t t = 0; first && t < tasks; ++t)
    return_failure(b_.CreateLoad(b_.getInt32Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt32Ty(), first, t)));
}

// Returns from the function if the status is not ok.
void KernelEmitter::return_failure(Value* status) {
  auto* fails = llvm::BasicBlock::Create(b_.getContext(), "fails", function_);
  auto* holds = llvm::BasicBlock::Create(b_.getContext(), "holds", function_);
  b_.CreateCondBr(b_.CreateICmpEQ(status, b_.getInt32(0)), holds, fails);
  b_.SetInsertPoint(fails);
  b_.CreateRet(status);
  b_.SetInsertPoint(holds);
}

}  // namespace dlcc::targets
