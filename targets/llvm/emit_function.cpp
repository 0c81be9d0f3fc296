// Outlined statements: loop nests (tensor/passes/outline_loop_nests.h) and the bodies of parallel loops
// (emit_parallel.cpp). The parameters of an outlined function are the buffers and variables that its statement
// captures.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>

#include "targets/llvm/kernel_emitter.h"
#include "tensor/visit.h"

namespace dlcc::targets {

using namespace tensor;

// The captured buffers in the order of the kernel's parameters, then the captured variables in the order of binding, so
// that consecutive calls pass most arguments in the same registers.
KernelEmitter::Captured KernelEmitter::captured_by(const Stmt& s) const {
  Free free = free_in(s);
  Captured result;
  for (const Parameter& p : kernel_.params)
    if (std::erase(free.buffers, p.buffer)) result.buffers.emplace_back(p.buffer.get(), memory_.at(p.buffer.get()));
  for (const Buffer& b : free.buffers) result.buffers.emplace_back(b.get(), memory_.at(b.get()));
  for (const Var& v : free.variables) result.variables.emplace_back(v, bindings_.at(v.get()));
  for (const auto& [buffer, memory] : result.buffers)  // strides are computed from the symbols in shapes
    for (const Dim& d : buffer->shape)
      for (const Symbol& symbol : d.symbols()) {
        const Expr reference = symbol_var(symbol);
        const Var& v = as<VarRef>(reference)->var;
        if (!std::ranges::count(free.variables, v)) {
          free.variables.push_back(v);
          result.variables.emplace_back(v, bindings_.at(v.get()));
        }
      }
  std::ranges::sort(result.variables, {}, [](const auto& v) { return v.second.order; });
  return result;
}

std::vector<Value*> KernelEmitter::Captured::values() const {
  std::vector<Value*> result;
  for (const auto& [buffer, memory] : buffers) result.push_back(memory.pointer);
  for (const auto& [var, binding] : variables)
    if (!llvm::isa<llvm::Constant>(binding.value)) result.push_back(binding.value);
  return result;
}

// A new function with the attributes of the kernel's function. Its linkage is external, since stack.cpp needs
// relocations that name it.
llvm::Function* KernelEmitter::new_function(const std::string& suffix, llvm::Type* result,
                                            const std::vector<llvm::Type*>& params) {
  auto* f = llvm::Function::Create(llvm::FunctionType::get(result, params, false), llvm::GlobalValue::ExternalLinkage,
                                   function_->getName() + suffix, *function_->getParent());
  f->setVisibility(llvm::GlobalValue::HiddenVisibility);
  f->setDSOLocal(true);
  f->addFnAttrs(llvm::AttrBuilder(b_.getContext(), function_->getAttributes().getFnAttrs()));
  return f;
}

llvm::Function* KernelEmitter::emit_outlined_function(const std::string& suffix, llvm::Type* result,
                                                      const Captured& captured, const std::vector<llvm::Type*>& more,
                                                      const BodyOfFunction& body) {
  std::vector<llvm::Type*> params;
  for (Value* v : captured.values()) params.push_back(v->getType());
  params.insert(params.end(), more.begin(), more.end());
  llvm::Function* f = new_function(suffix, result, params);

  KernelEmitter inner(level_, cpu_, kernel_, f, 1, debug_);
  if (debug_) inner.set_debug_line(line_);
  inner.loops_outside_ = depth();
  inner.bound_ = bound_;
  inner.facts_ = facts_;
  unsigned next = 0;
  for (auto [buffer, memory] : captured.buffers) {
    f->addParamAttrs(next, attributes_of(memory));
    memory.pointer = f->getArg(next++);
    inner.memory_[buffer] = memory;
  }
  for (auto [var, binding] : captured.variables) {
    if (!llvm::isa<llvm::Constant>(binding.value)) binding.value = f->getArg(next++);
    inner.bindings_[var.get()] = binding;
    if (auto range = ranges_.find(var); range != ranges_.end()) inner.ranges_.insert(*range);
  }
  std::vector<Value*> rest;
  while (next < f->arg_size()) rest.push_back(f->getArg(next++));
  inner.emit_function([&] { body(inner, rest); });
  return f;
}

// The attributes of a parameter to which this pointer is passed.
llvm::AttrBuilder KernelEmitter::attributes_of(const Memory& memory) const {
  if (auto* argument = llvm::dyn_cast<llvm::Argument>(memory.pointer))
    return {b_.getContext(), function_->getAttributes().getParamAttrs(argument->getArgNo())};
  llvm::AttrBuilder result(b_.getContext());
  result.addAttribute(llvm::Attribute::NoAlias).addAttribute(llvm::Attribute::NoCapture);
  result.addAlignmentAttr(llvm::Align(static_cast<uint64_t>(memory.alignment)));
  return result;
}

// The calling convention preserves the caller's registers, which the loops around the nest use; LLVM 19 has none such
// for RISC-V. On AArch64, the convention preserves x9, but LLVM 19 uses it to align the stack without saving it. As a
// workaround, inline assembly clobbers x9, so that the function saves it first.
void KernelEmitter::emit_outlined_nest(const Stmt& s) {
  Captured captured = captured_by(s);
  llvm::Function* f = emit_outlined_function("_outlined", b_.getVoidTy(), captured, {},
                                             [&](KernelEmitter& inner, const std::vector<Value*>&) {
                                               auto* type = llvm::FunctionType::get(inner.b_.getVoidTy(), false);
                                               if (llvm::Triple(function_->getParent()->getTargetTriple()).isAArch64())
                                                 inner.b_.CreateCall(llvm::InlineAsm::get(type, "", "~{x9}", true));
                                               inner.emit_statement(s);
                                             });
  if (!is_riscv()) f->setCallingConv(llvm::CallingConv::PreserveMost);
  b_.CreateCall(f, captured.values())->setCallingConv(f->getCallingConv());
}

}  // namespace dlcc::targets
