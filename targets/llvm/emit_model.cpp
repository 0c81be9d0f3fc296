#include "targets/llvm/emit_model.h"

#include <algorithm>

#include "dlcc/weights_file.h"
#include "lower/largest_size.h"
#include "support/ascii.h"
#include "targets/llvm/cpu_check.h"
#include "targets/llvm/debug_info.h"
#include "targets/llvm/emit_description.h"
#include "targets/llvm/emit_kernel.h"
#include "targets/llvm/emit_run_function.h"
#include "targets/llvm/emit_sizes.h"

namespace dlcc::targets {

using llvm::Value;
using tensor::Status;

namespace {

std::string level_suffix(const CodeLevel& level) {
  std::string result = level.name;
  for (char& c : result)
    if (!is_alphanumeric(c)) c = '_';
  return result;
}

// Emits the exported functions and the constant that describes the model.
class EntryEmitter {
 public:
  EntryEmitter(llvm::Module& module, const ModelParts& parts, const llvm::MCSubtargetInfo& cpu, DebugInfo* debug)
      : module_(module),
        parts_(parts),
        cpu_(cpu),
        debug_(debug),
        b_(module.getContext()),
        prefix_(parts.interface.prefix),
        array_(parts) {}

  void emit() {
    llvm::Type *pointer = b_.getPtrTy(), *i32 = b_.getInt32Ty(), *size = size_type();
    if (is_dynamic()) sizes_function_ = emit_sizes_function(module_, parts_, cpu_, debug_);
    llvm::Function* run_steps = emit_run_function(module_, parts_, prefix_ + "_run_steps", cpu_, debug_);
    llvm::Function* choice = define_level_choice(module_, prefix_ + "_cpu_level", parts_.target);

    llvm::Function* run_ctx =
        function(prefix_ + "_run_ctx", llvm::FunctionType::get(i32, {pointer, pointer, pointer, size, pointer}, false));
    emit_checks(run_ctx);
    emit_run(run_ctx, choice, run_steps);

    llvm::Function* run =
        function(prefix_ + "_run", llvm::FunctionType::get(i32, {pointer, pointer, pointer, size}, false));
    begin(run);
    auto* call = b_.CreateCall(run_ctx, {run->getArg(0), run->getArg(1), run->getArg(2), run->getArg(3), null()});
    b_.CreateRet(call);
    emit_description(module_, parts_, run_ctx, is_dynamic() ? emit_plan() : nullptr);
  }

 private:
  bool is_dynamic() const { return parts_.interface.is_dynamic(); }

  llvm::Type* size_type() { return module_.getDataLayout().getIntPtrType(module_.getContext()); }  // size_t of C

  llvm::Constant* null() { return llvm::ConstantPointerNull::get(b_.getPtrTy()); }

  llvm::Function* function(const std::string& name, llvm::FunctionType* type) {
    auto* result = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module_);
    result->setDoesNotThrow();
    result->setDSOLocal(true);
    return result;
  }

  // Begins a function's body. All of its instructions have the same line in the program's text.
  void begin(llvm::Function* function) {
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    if (!debug_) return;
    debug_->describe(function, function->getName().str(), parts_.text->run_line);
    b_.SetCurrentDebugLocation(location(function, parts_.text->run_line));
  }

  // Returns with a status when `fails` holds.
  void check(llvm::Function* run, Value* fails, Status status) {
    check(run, fails, b_.getInt32(static_cast<uint32_t>(status)));
  }
  void check(llvm::Function* run, Value* fails, Value* status) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(fails); constant && constant->isZero()) return;
    auto* bad = llvm::BasicBlock::Create(module_.getContext(), "bad", run);
    auto* good = llvm::BasicBlock::Create(module_.getContext(), "good", run);
    b_.CreateCondBr(fails, bad, good);
    b_.SetInsertPoint(bad);
    b_.CreateRet(status);
    b_.SetInsertPoint(good);
  }

  void emit_checks(llvm::Function* run) {
    begin(run);
    const emit::Interface& interface = parts_.interface;
    Value *inputs = run->getArg(0), *outputs = run->getArg(1), *arena = run->getArg(2);
    Value* bytes = b_.CreateZExt(run->getArg(3), b_.getInt64Ty());
    Value* is_null = b_.getFalse();
    auto note = [&](Value*& any, Value* one) { any = b_.CreateOr(any, one); };
    if (!interface.inputs.empty()) note(is_null, b_.CreateIsNull(inputs));
    if (!interface.outputs.empty()) note(is_null, b_.CreateIsNull(outputs));
    const bool has_arena = interface.arena_bytes != 0;
    if (interface.arena_bytes.value_or(0) > 0) note(is_null, b_.CreateIsNull(arena));
    check(run, is_null, Status::null_argument);
    if (is_dynamic()) find_sizes(run);
    if (!interface.arena_bytes) {
      Value* is_wanted = b_.CreateICmpNE(arena_bytes(), b_.getInt64(0));
      check(run, b_.CreateAnd(b_.CreateIsNull(arena), is_wanted), Status::null_argument);
    }

    Value *tensor_null = b_.getFalse(), *misaligned = b_.getFalse();
    auto check_tensors = [&](Value* pointers, const std::vector<emit::TensorInterface>& tensors) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        Value* slot = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), pointers, i);
        Value* tensor = b_.CreateLoad(b_.getPtrTy(), slot);
        note(tensor_null, b_.CreateAnd(b_.CreateIsNull(tensor), is_positive(largest(product(tensors[i].shape)))));
        note(misaligned, is_misaligned(b_, tensor, alignment_of(tensors[i].type)));
        if (i % 64 != 63) continue;  // LLVM's time for a block grows faster than the block
        check(run, tensor_null, Status::null_argument);
        tensor_null = b_.getFalse();
      }
    };
    check_tensors(inputs, interface.inputs);
    check_tensors(outputs, interface.outputs);
    check(run, tensor_null, Status::null_argument);
    if (has_arena) {
      check(run, b_.CreateICmpULT(bytes, arena_bytes()), Status::arena_too_small);
      note(misaligned, is_misaligned(b_, arena, interface.arena_alignment));
    }
    check(run, misaligned, Status::arena_misaligned);
    if (interface.weights_file) check_weights(run, *interface.weights_file);
    if (is_dynamic() && !data_decide_shapes())
      if_not_null(run, load_slot(outputs, interface.outputs.size()), [&](Value* shapes) { store_shapes(shapes); });
  }

  // ---- symbolic sizes

  Value* load_slot(Value* pointers, size_t index) {
    return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), pointers, index));
  }

  // The room that an axis of a result needs: 0 if it would have a negative size, in a run that a requirement ends.
  Dim largest(const Dim& d) const {
    const Dim most = lower::largest_size(parts_.program, d);
    return most == d || provably_le(0, most) ? most : max(most, 0);
  }

  bool data_decide_shapes() const {
    return std::ranges::any_of(parts_.interface.outputs, [&](const emit::TensorInterface& t) {
      return std::ranges::any_of(t.shape, [&](const Dim& d) { return !(largest(d) == d); });
    });
  }

  // Calls P_sizes with the caller's numbers and inputs, and returns its status if it fails.
  void find_sizes(llvm::Function* function) {
    Value* given = null();
    if (!parts_.program.dims.empty()) given = load_slot(function->getArg(0), parts_.interface.inputs.size());
    if (!parts_.program.dims.empty()) check(function, b_.CreateIsNull(given), Status::null_argument);
    sizes_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), array_.count()));
    Value* status = b_.CreateCall(sizes_function_, {given, function->getArg(0), sizes_});
    check(function, b_.CreateICmpNE(status, b_.getInt32(0)), status);
    symbols_.clear();
    for (size_t k = 0; const Symbol& s : lower::entry_symbols(parts_.program))
      symbols_[lower::scalar_of(s)] = array_.load(b_, sizes_, array_.symbol(k++));
  }

  Value* value_of(const Dim& d) {
    if (auto constant = d.constant()) return b_.getInt64(static_cast<uint64_t>(*constant));
    return emit_scalar(b_, tensor::Expr(d), symbols_, parts_.target.baseline, cpu_);
  }

  Value* is_positive(const Dim& d) {
    return provably_lt(0, d) ? b_.getTrue() : b_.CreateICmpNE(value_of(d), b_.getInt64(0));
  }

  Value* arena_bytes() {
    const std::optional<int64_t> constant = parts_.interface.arena_bytes;
    return constant ? b_.getInt64(static_cast<uint64_t>(*constant)) : array_.load(b_, sizes_, array_.arena_bytes());
  }

  void if_not_null(llvm::Function* function, Value* pointer, const std::function<void(Value*)>& then) {
    auto* wanted = llvm::BasicBlock::Create(module_.getContext(), "wanted", function);
    auto* after = llvm::BasicBlock::Create(module_.getContext(), "after", function);
    b_.CreateCondBr(b_.CreateIsNull(pointer), after, wanted);
    b_.SetInsertPoint(wanted);
    then(pointer);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  // Stores all axes of all outputs, in order. Before the run, data-dependent sizes have their upper bounds.
  enum class When : uint8_t { before_run, after_run };
  void store_shapes(Value* shapes, When when = When::before_run) {
    size_t position = 0;
    for (const emit::TensorInterface& t : parts_.interface.outputs)
      for (const Dim& d : t.shape)
        b_.CreateStore(value_of(when == When::before_run ? largest(d) : d),
                       b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), shapes, position++));
  }

  // Stores the actual shapes after a run, if `status` is ok.
  void store_actual_shapes(llvm::Function* run, Value* status) {
    Value* shapes = load_slot(run->getArg(1), parts_.interface.outputs.size());
    Value* wanted = b_.CreateSelect(b_.CreateICmpEQ(status, b_.getInt32(0)), shapes, null());
    if_not_null(run, wanted, [&](Value* room) {
      for (size_t k = 0; k < parts_.program.data_sizes.size(); ++k)
        symbols_[lower::scalar_of(parts_.program.data_sizes[k].symbol)] = array_.load(b_, sizes_, array_.data_size(k));
      store_shapes(room, When::after_run);
    });
  }

  // dlcc_status P_plan(const P_inputs *, P_shapes *, uint64_t *arena_bytes)
  llvm::Function* emit_plan() {
    llvm::Type* pointer = b_.getPtrTy();
    llvm::Function* plan =
        function(prefix_ + "_plan", llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer}, false));
    begin(plan);
    check(plan, b_.CreateIsNull(plan->getArg(0)), Status::null_argument);
    find_sizes(plan);
    if_not_null(plan, plan->getArg(1), [&](Value* shapes) { store_shapes(shapes); });
    if_not_null(plan, plan->getArg(2), [&](Value* bytes) { b_.CreateStore(arena_bytes(), bytes); });
    b_.CreateRet(b_.getInt32(0));
    return plan;
  }

  // Checks the size and the header of the weights file that the context gives. Callers check its data once, with
  // dlcc_check_weights.
  void check_weights(llvm::Function* run, const emit::WeightsFile& file) {
    Value* context = run->getArg(4);
    check(run, b_.CreateIsNull(context), Status::weights_missing);
    Value* weights = load_member(b_, b_.getPtrTy(), context, ContextMember::weights);
    check(run, b_.CreateIsNull(weights), Status::weights_missing);
    check(run, is_misaligned(b_, weights, file.alignment), Status::arena_misaligned);
    auto bytes = static_cast<uint64_t>(file.bytes);
    Value* given = load_member(b_, size_type(), context, ContextMember::weights_bytes);
    given = b_.CreateZExt(given, b_.getInt64Ty());
    check(run, b_.CreateICmpULT(given, b_.getInt64(bytes)), Status::weights_mismatch);
    Value* differs = b_.getFalse();
    const uint64_t head[] = {DLCC_WEIGHTS_MAGIC, bytes, file.hash};
    for (size_t i = 0; i < std::size(head); ++i) {
      Value* word = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), weights, i));
      differs = b_.CreateOr(differs, b_.CreateICmpNE(word, b_.getInt64(head[i])));
    }
    check(run, differs, Status::weights_mismatch);
  }

  // Calls the run function with the level of the CPU, which `choice` returns: -1 if the CPU supports none.
  void emit_run(llvm::Function* run, llvm::Function* choice, llvm::Function* run_steps) {
    std::vector<Value*> arguments = {run->getArg(0), run->getArg(1), run->getArg(2), run->getArg(4)};
    if (is_dynamic()) arguments.push_back(sizes_);
    if (choice) {
      Value* level = b_.CreateCall(choice);
      check(run, b_.CreateICmpSLT(level, b_.getInt32(0)), Status::unsupported_cpu);
      if (parts_.target.levels.size() > 1) arguments.push_back(level);
    }
    Value* status = b_.CreateCall(run_steps, arguments);
    if (is_dynamic() && data_decide_shapes()) store_actual_shapes(run, status);
    b_.CreateRet(status);
  }

  llvm::Module& module_;
  const ModelParts& parts_;
  const llvm::MCSubtargetInfo& cpu_;
  DebugInfo* debug_;
  llvm::IRBuilder<> b_;
  std::string prefix_;
  // For a model with symbolic sizes: the positions in the sizes array, P_sizes, the array in the current function, and
  // the values of symbols.
  SizesArray array_;
  llvm::Function* sizes_function_ = nullptr;
  Value* sizes_ = nullptr;
  ScalarValues symbols_;
};

}  // namespace

llvm::Constant* string_constant(llvm::Module& module, const std::string& text, const std::string& name) {
  auto* data = llvm::ConstantDataArray::getString(module.getContext(), text);
  auto* global = new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, name);
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  global->setAlignment(llvm::Align(1));
  return global;
}

std::string kernel_symbol(const ModelParts& parts, size_t kernel, const CodeLevel& level) {
  std::string name = parts.text ? emit::c_identifier(parts.program.kernels[kernel].name) + "_" : "";
  return fmt::format("{}_k{}_{}{}", parts.interface.prefix, kernel, name, level_suffix(level));
}

std::string function_symbol(const ModelParts& parts, size_t function) {
  return fmt::format("{}_f{}", parts.interface.prefix, function);
}

Value* load_member(llvm::IRBuilder<>& b, llvm::Type* type, Value* context, ContextMember member) {
  return b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(type, context, static_cast<uint64_t>(member)));
}

std::vector<std::string> exported_symbols(const emit::Interface& interface) {
  std::vector<std::string> symbols = {interface.prefix + "_run", interface.prefix + "_run_ctx",
                                      interface.prefix + "_model"};
  if (interface.is_dynamic()) symbols.push_back(interface.prefix + "_plan");
  return symbols;
}

void emit_model(llvm::Module& module, const ModelParts& parts, const llvm::MCSubtargetInfo& cpu, DebugInfo* debug) {
  EntryEmitter(module, parts, cpu, debug).emit();
}

}  // namespace dlcc::targets
