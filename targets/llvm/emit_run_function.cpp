#include "targets/llvm/emit_run_function.h"

#include <algorithm>
#include <span>

#include "lower/size_conditions.h"
#include "lower/steps.h"
#include "lower/walk.h"
#include "targets/llvm/debug_info.h"
#include "targets/llvm/emit_kernel.h"
#include "targets/llvm/emit_sizes.h"
#include "targets/llvm/extensions.h"

namespace dlcc::targets {

using llvm::Value;

namespace {

class RunFunctionEmitter {
 public:
  // `function`: of the program, or -1 for the program itself.
  RunFunctionEmitter(llvm::Module& module, const ModelParts& parts, int function, std::string symbol,
                     const llvm::MCSubtargetInfo& cpu, DebugInfo* debug)
      : module_(module),
        parts_(parts),
        index_(function),
        symbol_(std::move(symbol)),
        source_(function < 0 ? parts.program : parts.program.functions[static_cast<size_t>(function)]),
        plan_(function < 0 ? parts.plan : parts.plan.functions[static_cast<size_t>(function)]),
        cpu_(cpu),
        debug_(debug),
        sizes_(parts),
        b_(module.getContext()),
        step_(lower::first_step(parts.program, function)) {}

  llvm::Function* emit() {
    const std::span<const lower::Step> steps = source_.body.steps;
    if (steps.size() > steps_of_part) return emit_in_parts(steps);
    begin(symbol_, Kind::whole, first_line());
    find_environment();
    emit_steps(steps);
    return finish();
  }

 private:
  bool is_dynamic() const { return parts_.interface.is_dynamic(); }
  bool is_called() const { return index_ >= 0; }
  // Lines of the text that debug information refers to.
  int first_line() const {
    if (!parts_.text) return 0;
    return is_called() ? parts_.text->functions[static_cast<size_t>(index_)] : parts_.text->run_line;
  }
  int line_of(const lower::Step& step) const { return parts_.text ? parts_.text->steps.at(&step) : 0; }

  // ---- functions

  // LLVM's time for a function grows faster than the number of its calls, so that a long function is several.
  static constexpr size_t steps_of_part = 256;
  enum class Kind : uint8_t { whole, part };

  // Begins a function; a part has the address of the scalars of the parts before it as a further, last parameter.
  void begin(const std::string& symbol, Kind kind, int line) {
    const size_t tensors = is_called() ? source_.inputs.size() + source_.outputs.size() : 2;
    std::vector<llvm::Type*> params(tensors + (is_dynamic() ? 3 : 2), b_.getPtrTy());
    const bool has_level = parts_.target.levels.size() > 1;
    if (has_level) params.push_back(b_.getInt32Ty());
    if (kind == Kind::part) params.push_back(b_.getPtrTy());
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), params, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, symbol, module_);
    auto argument = [&, next = tensors]() mutable { return function_->getArg(static_cast<unsigned>(next++)); };
    arena_ = argument();
    context_ = argument();
    if (is_dynamic()) sizes_array_ = argument();
    if (has_level) level_ = argument();
    kept_array_ = kind == Kind::part ? argument() : nullptr;
    function_->setDoesNotThrow();
    function_->addFnAttr(llvm::Attribute::NoInline);
    align_stack(*function_);
    if (debug_) debug_->describe(function_, symbol, line);
    b_.SetInsertPoint(block("entry"));
    if (parts_.text) set_debug_line(line);
    failed_ = block("failed");
    status_ = llvm::PHINode::Create(b_.getInt32Ty(), 0, "status", failed_);
  }

  // Loads what steps need: members of the context, sizes, and scalars of the parts before.
  void find_environment() {
    if (parts_.interface.weights_file)  // the entry function has checked the context
      weights_ = load_member(b_, b_.getPtrTy(), context_, ContextMember::weights);
    profiler_ = find_in_context(ContextMember::profiler, "profiler");
    executor_ = find_executor();
    scalars_.clear();
    for (size_t k = 0; const Symbol& s : lower::entry_symbols(parts_.program))
      scalars_[lower::scalar_of(s)] = load_size(sizes_.symbol(k++));
    for (size_t k = 0; k < kept_.size(); ++k)
      scalars_[kept_[k]] = b_.CreateLoad(type_of_scalar(module_.getContext(), kept_[k]->type), place_of_kept(k));
  }

  llvm::Function* finish() {
    if (parts_.text) set_debug_line(first_line());
    b_.CreateRet(b_.getInt32(0));
    if (status_->getNumIncomingValues() == 0) {
      failed_->eraseFromParent();
    } else {
      failed_->moveAfter(&function_->back());
      b_.SetInsertPoint(failed_);
      b_.CreateRet(status_);
    }
    return function_;
  }

  // Emits a function for every 256 steps, then the one that calls them in turn.
  llvm::Function* emit_in_parts(std::span<const lower::Step> steps) {
    std::vector<llvm::Function*> parts;
    for (; !steps.empty(); steps = steps.subspan(std::min(steps.size(), steps_of_part))) {
      const auto part = steps.first(std::min(steps.size(), steps_of_part));
      begin(fmt::format("{}_part{}", symbol_, parts.size()), Kind::part, line_of(part.front()));
      find_environment();
      emit_steps(part);
      parts.push_back(finish());
    }
    begin(symbol_, Kind::whole, first_line());
    std::vector<Value*> arguments;
    for (llvm::Argument& a : function_->args()) arguments.push_back(&a);
    arguments.push_back(b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), kept_.size())));
    for (llvm::Function* part : parts) {
      Value* status = b_.CreateCall(part, arguments);
      fail_unless(b_.CreateIsNull(status), status);
    }
    return finish();
  }

  // In a part, stores the scalars that a step has defined, for the parts after it.
  void keep_scalars(const lower::Step& step) {
    if (!kept_array_) return;
    lower::for_each_definition(step, [&](const tensor::Var& v) {
      kept_.push_back(v);
      b_.CreateStore(scalars_.at(v), place_of_kept(kept_.size() - 1));
    });
  }

  Value* place_of_kept(size_t k) { return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), kept_array_, k); }

  Value* load_size(size_t position) { return sizes_.load(b_, sizes_array_, position); }

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(module_.getContext(), name, function_); }

  // context ? context->member : null
  Value* find_in_context(ContextMember member, const char* name) {
    auto *given = block("context"), *after = block("begin"), *before = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateIsNull(context_), after, given);
    b_.SetInsertPoint(given);
    Value* loaded = load_member(b_, b_.getPtrTy(), context_, member);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    llvm::PHINode* result = b_.CreatePHI(b_.getPtrTy(), 2, name);
    result->addIncoming(llvm::ConstantPointerNull::get(b_.getPtrTy()), before);
    result->addIncoming(loaded, given);
    return result;
  }

  // The context's executor, else the runtime's thread pool; null when no kernel forks.
  Value* find_executor() {
    bool wanted = false;
    auto note = [&](const lower::KernelVariants& kernel) { wanted |= forks(kernel, parts_.program.threads); };
    if (is_called())
      lower::for_each_call(source_.body, [&](const lower::Invoke& x) { note(kernel_of(x)); });
    else
      for (const lower::KernelVariants& k : parts_.program.kernels) note(k);
    if (!wanted) return nullptr;
    Value* given = find_in_context(ContextMember::executor, "given");
    auto *default_block = block("default"), *after = block("executor"), *before = b_.GetInsertBlock();
    b_.CreateCondBr(b_.CreateIsNull(given), default_block, after);
    b_.SetInsertPoint(default_block);
    auto get = module_.getOrInsertFunction("dlcc_default_executor",
                                           llvm::FunctionType::get(b_.getPtrTy(), {b_.getInt32Ty()}, false));
    Value* pool = b_.CreateCall(get, {b_.getInt32(static_cast<uint32_t>(parts_.program.threads))});
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    llvm::PHINode* result = b_.CreatePHI(b_.getPtrTy(), 2, "executor");
    result->addIncoming(given, before);
    result->addIncoming(pool, default_block);
    return result;
  }

  void set_debug_line(int line) { b_.SetCurrentDebugLocation(location(function_, line)); }

  // Emits the steps of the function's body.
  void emit_steps(std::span<const lower::Step> steps) {
    for (const lower::Step& step : steps) {
      emit_step(step);
      keep_scalars(step);
    }
  }

  void emit_region(const lower::Region& region) {
    for (const lower::Step& step : region.steps) emit_step(step);
  }

  void emit_step(const lower::Step& step) {
    constexpr auto out_of_range = static_cast<uint32_t>(tensor::Status::dimension_out_of_range);
    if (parts_.text) set_debug_line(parts_.text->steps.at(&step));
    std::visit(overloaded{
                   [&](const lower::Invoke& x) { emit_invoke(x); },
                   [&](const lower::Copy& x) {
                     const Dim& bytes = source_.values[static_cast<size_t>(x.from)].bytes;
                     if (bytes != Dim(0))
                       b_.CreateMemCpy(address(x.to), llvm::Align(1), address(x.from), llvm::Align(1),
                                       scalar(tensor::Expr(bytes)));
                   },
                   [&](const lower::Compute& x) {
                     scalars_[x.result] = scalar(x.value);
                     keep_data_size(x.result);
                   },
                   [&](const lower::Read& x) {
                     const DType type = source_.values[static_cast<size_t>(x.from)].type;
                     scalars_[x.result] = load_element(b_, address(x.from), type, x.element);
                     keep_data_size(x.result);
                   },
                   [&](const lower::Write& x) { store_element(x.to, x.element, scalar(x.value)); },
                   [&](const lower::Require& x) {
                     fail_unless(scalar(x.condition), b_.getInt32(static_cast<uint32_t>(x.status)));
                   },
                   [&](const lower::CheckSize& x) {
                     for (const tensor::Expr& condition : lower::conditions_of_size(x.size))
                       fail_unless(scalar(condition), b_.getInt32(out_of_range));
                   },
                   [&](const lower::Call& x) { emit_call(x); },
                   [&](const std::shared_ptr<lower::Branch>& x) { emit_branch(*x); },
                   [&](const std::shared_ptr<lower::Loop>& x) { emit_loop(*x); },
               },
               step);
  }

  // Stores a data-dependent size in the sizes array: the shapes of outputs may need it after the run.
  void keep_data_size(const tensor::Var& scalar) {
    const auto& sizes = parts_.program.data_sizes;
    auto size = std::ranges::find_if(sizes, [&](const auto& d) { return lower::scalar_of(d.symbol) == scalar; });
    if (is_dynamic() && size != sizes.end())
      sizes_.store(b_, scalars_.at(scalar), sizes_array_, sizes_.data_size(static_cast<size_t>(size - sizes.begin())));
  }

  const lower::KernelVariants& kernel_of(const lower::Invoke& x) const {
    return parts_.program.kernels[static_cast<size_t>(x.kernel)];
  }

  llvm::Function* declared(size_t kernel, size_t level) {
    const std::string symbol = kernel_symbol(parts_, kernel, parts_.target.levels[level]);
    llvm::Function* known = module_.getFunction(symbol);
    return known ? known : declare_kernel(module_, symbol, parts_.program.kernels[kernel], parts_.program.threads);
  }

  // The address of the kernel's code for the CPU's level.
  Value* code_of(size_t kernel) {
    Value* code = declared(kernel, 0);
    for (size_t level = 1; level < parts_.target.levels.size(); ++level)
      if (level_of_kernel(parts_.program, parts_.target, kernel, level) == level)
        code = b_.CreateSelect(b_.CreateICmpUGE(level_, b_.getInt32(static_cast<uint32_t>(level))),
                               declared(kernel, level), code);
    return code;
  }

  void emit_invoke(const lower::Invoke& x) {
    const lower::KernelVariants& kernel = kernel_of(x);
    const tensor::Kernel& any = kernel.variants[0];
    DLCC_CHECK(x.operands.size() == any.params.size(), "{} operands for {} parameters of {}", x.operands.size(),
               any.params.size(), kernel.name);
    std::vector<Value*> operands;
    for (lower::ValueId id : x.operands) operands.push_back(address(id));
    for (const tensor::Expr& e : x.scalars) operands.push_back(scalar(e));
    if (forks(kernel, parts_.program.threads)) operands.push_back(executor_);
    emit_profile(1, x.node);
    llvm::FunctionType* type = declared(static_cast<size_t>(x.kernel), 0)->getFunctionType();
    Value* status = b_.CreateCall(type, code_of(static_cast<size_t>(x.kernel)), operands);
    emit_profile(2, x.node);
    ++step_;
    if (type->getReturnType()->isIntegerTy()) fail_unless(b_.CreateICmpEQ(status, b_.getInt32(0)), status);
  }

  // CALLEE(operands..., results..., workspace, context, sizes). The callee finds what its kernels need in the context.
  void emit_call(const lower::Call& x) {
    const int64_t workspace = plan_.workspaces[next_call_++];
    std::vector<Value*> arguments;
    for (lower::ValueId id : x.operands) arguments.push_back(address(id));
    for (lower::ValueId id : x.results) arguments.push_back(address(id));
    arguments.push_back(workspace < 0 ? llvm::ConstantPointerNull::get(b_.getPtrTy()) : in_arena(workspace));
    arguments.push_back(context_);
    if (is_dynamic()) arguments.push_back(sizes_array_);
    if (level_) arguments.push_back(level_);
    llvm::Function* callee = module_.getFunction(function_symbol(parts_, static_cast<size_t>(x.function)));
    emit_profile(1, x.node);
    Value* status = b_.CreateCall(callee, arguments);
    emit_profile(2, x.node);
    ++step_;
    fail_unless(b_.CreateICmpEQ(status, b_.getInt32(0)), status);
  }

  // Returns the status unless the condition holds.
  void fail_unless(Value* condition, Value* status) {
    auto* next = block("next");
    status_->addIncoming(status, b_.GetInsertBlock());
    b_.CreateCondBr(condition, next, failed_);
    b_.SetInsertPoint(next);
  }

  // ---- scalars

  Value* scalar(const tensor::Expr& e) { return emit_scalar(b_, e, scalars_, parts_.target.baseline, cpu_); }

  // In memory, an element has the type of the scalar; a bool is one byte.
  void store_element(lower::ValueId id, int64_t element, Value* value) {
    const DType type = source_.values[static_cast<size_t>(id)].type;
    llvm::Type* stored = is_bool(type) ? b_.getInt8Ty() : type_of_scalar(module_.getContext(), type);
    if (value->getType()->isIntegerTy(1)) value = b_.CreateZExt(value, stored);
    Value* pointer = b_.CreateConstInBoundsGEP1_64(stored, address(id), static_cast<uint64_t>(element));
    b_.CreateAlignedStore(value, pointer, llvm::Align(1));
  }

  // if (profiler) profiler->FIELD(profiler->self, step, node)
  void emit_profile(uint64_t field, const std::string& node) {
    llvm::Type* pointer = b_.getPtrTy();
    auto *wanted = block("profile"), *after = block("step");
    b_.CreateCondBr(b_.CreateIsNull(profiler_), after, wanted);
    b_.SetInsertPoint(wanted);
    Value* self = b_.CreateLoad(pointer, profiler_);
    Value* callback = b_.CreateLoad(pointer, b_.CreateConstInBoundsGEP1_64(pointer, profiler_, field));
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, b_.getInt32Ty(), pointer}, false);
    b_.CreateCall(type, callback, {self, b_.getInt32(static_cast<uint32_t>(step_)), node_name(node)});
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  llvm::Constant* node_name(const std::string& node) {
    std::string symbol = fmt::format("{}_node{}", parts_.interface.prefix, step_);
    if (auto* existing = module_.getNamedGlobal(symbol)) return existing;
    return string_constant(module_, node, symbol);
  }

  // ---- control

  void emit_branch(const lower::Branch& x) {
    auto *then_block = block("then"), *else_block = block("else"), *after = block("endif");
    b_.CreateCondBr(scalar(x.condition), then_block, else_block);
    std::vector<llvm::PHINode*> merges;
    for (const lower::Branch::Merge& m : x.merges)
      merges.push_back(llvm::PHINode::Create(type_of_scalar(module_.getContext(), m.result->type), 2, "", after));
    auto emit_arm = [&](llvm::BasicBlock* arm, const lower::Region& region, tensor::Expr lower::Branch::Merge::*value) {
      b_.SetInsertPoint(arm);
      emit_region(region);
      std::vector<Value*> values;
      for (const lower::Branch::Merge& m : x.merges) values.push_back(scalar(m.*value));
      for (size_t k = 0; k < merges.size(); ++k) merges[k]->addIncoming(values[k], b_.GetInsertBlock());
      b_.CreateBr(after);
    };
    emit_arm(then_block, x.then_region, &lower::Branch::Merge::then_value);
    emit_arm(else_block, x.else_region, &lower::Branch::Merge::else_value);
    b_.SetInsertPoint(after);
    for (size_t k = 0; k < merges.size(); ++k) {
      scalars_[x.merges[k].result] = merges[k];
      keep_data_size(x.merges[k].result);
    }
  }

  void emit_loop(const lower::Loop& x) {
    auto *test = block("loop"), *body = block("do"), *after = block("done");
    std::vector<Value*> initial;
    for (const lower::Loop::Carried& c : x.carried) initial.push_back(scalar(c.initial));
    llvm::BasicBlock* before = b_.GetInsertBlock();
    b_.CreateBr(test);
    b_.SetInsertPoint(test);
    std::vector<llvm::PHINode*> carried;
    for (size_t k = 0; k < x.carried.size(); ++k) {
      carried.push_back(b_.CreatePHI(initial[k]->getType(), 2, x.carried[k].var->name));
      carried[k]->addIncoming(initial[k], before);
      scalars_[x.carried[k].var] = carried[k];
    }
    emit_region(x.test);
    b_.CreateCondBr(scalar(x.condition), body, after);
    b_.SetInsertPoint(body);
    emit_region(x.body);
    std::vector<Value*> next;
    for (const lower::Loop::Carried& c : x.carried) next.push_back(scalar(c.next));
    for (size_t k = 0; k < carried.size(); ++k) carried[k]->addIncoming(next[k], b_.GetInsertBlock());
    b_.CreateBr(test);
    b_.SetInsertPoint(after);
  }

  // A pointer to the value's first byte.
  Value* address(lower::ValueId id) {
    const lower::Value* value = &source_.values[static_cast<size_t>(id)];
    int64_t offset = 0;
    Value* begin = nullptr;  // bytes
    if (value->storage == lower::Storage::view) {
      offset = value->base_offset.constant().value_or(0);
      if (value->begin) begin = b_.CreateMul(scalar(value->begin), b_.getInt64(static_cast<uint64_t>(value->stride)));
      if (!value->base_offset.is_constant()) {
        Value* in_base = scalar(tensor::Expr(value->base_offset));
        begin = begin ? b_.CreateAdd(begin, in_base) : in_base;
      }
      id = value->base;
      value = &source_.values[static_cast<size_t>(id)];
    }
    auto index = static_cast<size_t>(value->index);
    auto tensor = [&](unsigned arg) -> Value* {
      if (is_called()) return function_->getArg(static_cast<unsigned>(index + arg * source_.inputs.size()));
      Value* slot = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), function_->getArg(arg), index);
      return b_.CreateLoad(b_.getPtrTy(), slot);
    };
    Value* base = nullptr;
    switch (value->storage) {
      case lower::Storage::input:
        base = tensor(0);
        break;
      case lower::Storage::output:
        base = tensor(1);
        break;
      case lower::Storage::constant:
        base = weights();
        offset += parts_.constant_offsets[index];
        break;
      case lower::Storage::temporary:
        base = arena_;
        if (plan_.is_stacked())
          base = in_arena(plan_.block_of[static_cast<size_t>(id)]);
        else
          offset += plan_.offsets[static_cast<size_t>(id)];
        break;
      case lower::Storage::view:
        DLCC_UNREACHABLE("value {} is a view of a view", value->name);
    }
    if (begin) base = b_.CreateGEP(b_.getInt8Ty(), base, begin);
    return offset ? b_.CreateConstGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(offset)) : base;
  }

  // The address of a byte offset in the arena or, if the arena is stacked, of the block with this number.
  Value* in_arena(int64_t position) {
    const size_t function = is_called() ? static_cast<size_t>(index_) : parts_.program.functions.size();
    if (!plan_.is_stacked()) return b_.CreateConstGEP1_64(b_.getInt8Ty(), arena_, static_cast<uint64_t>(position));
    return b_.CreateGEP(b_.getInt8Ty(), arena_, load_size(sizes_.block(function, static_cast<size_t>(position))));
  }

  Value* weights() {
    if (weights_) return weights_;
    if (auto* existing = module_.getNamedGlobal(parts_.weights_symbol)) return existing;
    auto* type = llvm::ArrayType::get(b_.getInt8Ty(), 0);
    auto* global = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::ExternalLinkage, nullptr,
                                            parts_.weights_symbol);
    global->setVisibility(llvm::GlobalValue::HiddenVisibility);
    global->setDSOLocal(true);
    return global;
  }

  llvm::Module& module_;
  const ModelParts& parts_;
  const int index_;  // of the function; -1: the program
  const std::string symbol_;
  const lower::Function& source_;
  const lower::FunctionPlan& plan_;
  const llvm::MCSubtargetInfo& cpu_;
  DebugInfo* const debug_;
  SizesArray sizes_;
  llvm::IRBuilder<> b_;
  ScalarValues scalars_;
  llvm::Function* function_ = nullptr;  // that is being emitted
  Value *arena_ = nullptr, *context_ = nullptr;
  Value* sizes_array_ = nullptr;  // of a model with symbolic sizes
  Value* level_ = nullptr;        // the index of the CPU's level, an int32; null for a target with one level
  llvm::BasicBlock* failed_ = nullptr;
  llvm::PHINode* status_ = nullptr;
  Value *profiler_ = nullptr, *executor_ = nullptr;
  Value* weights_ = nullptr;       // the contents of the weights file; null when the object has the weights
  std::vector<tensor::Var> kept_;  // scalars of the parts so far, with an element of 8 bytes each in the array
  Value* kept_array_ = nullptr;    // null in a function that is no part
  int step_;
  size_t next_call_ = 0;  // of a function, in the order of lower/walk.h
};

}  // namespace

llvm::Function* emit_run_function(llvm::Module& module, const ModelParts& parts, const std::string& symbol,
                                  const llvm::MCSubtargetInfo& cpu, DebugInfo* debug) {
  for (size_t k = 0; k < parts.program.functions.size(); ++k)
    RunFunctionEmitter(module, parts, static_cast<int>(k), function_symbol(parts, k), cpu, debug).emit();
  return RunFunctionEmitter(module, parts, -1, symbol, cpu, debug).emit();
}

}  // namespace dlcc::targets
