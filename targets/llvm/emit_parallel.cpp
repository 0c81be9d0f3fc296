// Parallel loops: the executor runs tasks, each with an equal share of the iterations.
//
// The loop becomes a function of its own, the share: the kernel's parameters with all that is known about them, the
// variables bound around the loop, and the iterations' bounds. A task finds these in a frame on the stack of whoever
// forks: { kernel's parameters..., captured variables..., a status for each task }.
#include "targets/llvm/kernel_emitter.h"
#include "tensor/passes/parallel_loops.h"
#include "tensor/visit.h"

namespace dlcc::targets {

using namespace tensor;

// Variables bound around the loop that it mentions, in order of appearance.
KernelEmitter::Captured KernelEmitter::captured_by(const For& loop) const {
  std::set<const VarNode*> seen = {loop.var.get()};
  for_each_stmt(loop.body, [&](const Stmt& s) {
    if (const For* x = as<For>(s)) seen.insert(x->var.get());
    if (const Let* x = as<Let>(s)) seen.insert(x->var.get());
  });
  Captured result;
  for_each_root_expr(loop.body, [&](const Expr& root) {
    for_each_expr(root, [&](const Expr& e) {
      const VarRef* ref = as<VarRef>(e);
      if (ref && seen.insert(ref->var.get()).second) result.emplace_back(ref->var.get(), bindings_.at(ref->var.get()));
    });
  });
  return result;
}

// A function beside the kernel's. Not internal, so that relocations name it, by which its stack use is found.
llvm::Function* KernelEmitter::new_function(const std::string& suffix, llvm::Type* result,
                                            const std::vector<llvm::Type*>& params) {
  auto* f = llvm::Function::Create(llvm::FunctionType::get(result, params, false), llvm::GlobalValue::ExternalLinkage,
                                   function_->getName() + suffix, *function_->getParent());
  f->setVisibility(llvm::GlobalValue::HiddenVisibility);
  f->setDSOLocal(true);
  f->addFnAttrs(llvm::AttrBuilder(b_.getContext(), function_->getAttributes().getFnAttrs()));
  return f;
}

llvm::Function* KernelEmitter::emit_share(const For& loop, int64_t extent, const Captured& captured) {
  auto buffers = static_cast<unsigned>(kernel_.params.size());
  std::vector<llvm::Type*> params(buffers, b_.getPtrTy());
  for (const auto& [var, binding] : captured) params.push_back(binding.value->getType());
  params.insert(params.end(), {b_.getInt64Ty(), b_.getInt64Ty()});
  llvm::Function* f = new_function("_share", function_->getReturnType(), params);
  for (unsigned i = 0; i < buffers; ++i)
    f->addParamAttrs(i, llvm::AttrBuilder(b_.getContext(), function_->getAttributes().getParamAttrs(i)));

  KernelEmitter share(level_, cpu_, kernel_, f, 1, debug_);
  if (debug_) share.go_to_line(line_);
  share.loops_outside_ = depth();
  unsigned next = buffers;
  for (const auto& [var, binding] : captured) {
    share.bindings_[var] = binding;
    share.bindings_[var].value = f->getArg(next++);
  }
  share.emit_function([&] {
    share.emit_loop(loop.var.get(), f->getArg(next), f->getArg(next + 1), 1, true, Range{0, extent - 1},
                    [&](Value*, std::optional<Range>) { share.emit(loop.body); });
  });
  return f;
}

// void task(frame, index)
llvm::Function* KernelEmitter::emit_task(llvm::Function* share, llvm::StructType* frame, int64_t extent,
                                         uint64_t tasks) {
  llvm::Function* f = new_function("_task", b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty()});
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
  Captured captured = captured_by(loop);
  llvm::Function* share = emit_share(loop, extent, captured);
  bool can_fail = !function_->getReturnType()->isVoidTy();
  // Statuses are looked at one by one, so they are few.
  auto tasks = static_cast<uint64_t>(can_fail ? threads_ : count_tasks(loop, extent, threads_));
  std::vector<llvm::Type*> types(share->getFunctionType()->params().drop_back(2));
  auto statuses = static_cast<unsigned>(types.size());
  if (can_fail) types.push_back(llvm::ArrayType::get(b_.getInt32Ty(), tasks));
  auto* frame = llvm::StructType::get(b_.getContext(), types);
  llvm::Function* task = emit_task(share, frame, extent, tasks);

  llvm::BasicBlock& entry = function_->getEntryBlock();
  Value* slot = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(frame, nullptr, "frame");
  unsigned next = 0;
  auto put = [&](Value* v) { b_.CreateStore(v, b_.CreateStructGEP(frame, slot, next++)); };
  for (unsigned i = 0; i < kernel_.params.size(); ++i) put(function_->getArg(i));
  for (const auto& [var, binding] : captured) put(binding.value);
  // executor->parallel_for(executor->self, tasks, task, frame)
  Value* executor = function_->getArg(static_cast<unsigned>(kernel_.params.size()));
  Value* self = b_.CreateLoad(b_.getPtrTy(), executor);
  Value* run = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), executor, 1));
  auto* type =
      llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty(), b_.getPtrTy(), b_.getPtrTy()}, false);
  b_.CreateCall(type, run, {self, b_.getInt64(tasks), task, slot});
  if (can_fail) return_first_failure(b_.CreateStructGEP(frame, slot, statuses), tasks);
}

// Shares are consecutive, so the first failure is that of a serial loop.
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
