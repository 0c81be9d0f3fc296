// Statements of the tensor IR as basic blocks: loops, branches, requirements and buffers.
#include "targets/llvm/emit_kernel.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "targets/llvm/debug_info.h"
#include "targets/llvm/kernel_emitter.h"
#include "tensor/index_facts.h"
#include "tensor/passes/parallel_loops.h"
#include "tensor/visit.h"

namespace dlcc::targets {

using namespace tensor;

KernelEmitter::KernelEmitter(const CodeLevel& level, const llvm::MCSubtargetInfo& cpu, const Kernel& kernel,
                             llvm::Function* function, int threads, const KernelDebug* debug)
    : level_(level),
      cpu_(cpu),
      has_mask_registers_(cpu.getTargetTriple().isX86() && cpu.checkFeatures("+avx512f")),
      kernel_(kernel),
      function_(function),
      b_(function->getContext()),
      threads_(threads),
      debug_(debug) {
  if (!debug) return;
  debug->info.describe(function, kernel.name, debug->text.line);
  set_debug_line(debug->text.line);
}

void KernelEmitter::emit() {
  for (unsigned i = 0; i < kernel_.params.size(); ++i) {
    const BufferNode& buffer = *kernel_.params[i].buffer;
    int64_t elements = product(buffer.shape).constant().value_or(-1);
    memory_[&buffer] = {function_->getArg(i), std::max(buffer.alignment, element_bytes(buffer.type)), elements};
  }
  unsigned next = static_cast<unsigned>(kernel_.params.size());
  const std::vector<Symbol> symbols = symbols_of(kernel_);
  if (!symbols.empty()) facts_.emplace(symbols);
  const Ranges sizes = ranges_of(symbols);
  for (const Var& v : kernel_.scalars) {
    auto size = sizes.find(v);
    const bool is_size = size != sizes.end();
    bind(v, function_->getArg(next++), is_size, is_size ? std::optional(size->second) : std::nullopt);
  }
  emit_function([&] {
    if (kernel_.body) emit(kernel_.body);
  });
}

void KernelEmitter::emit_function(const std::function<void()>& body) {
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function_));
  memos_.emplace_back();
  body();
  if (function_->getReturnType()->isVoidTy())
    b_.CreateRetVoid();
  else
    b_.CreateRet(b_.getInt32(0));
}

void KernelEmitter::begin_statement() {
  memos_.back().clear();
  kept_.clear();
  loads_.clear();
}

void KernelEmitter::bind(const Var& var, Value* value, bool bounded, std::optional<Range> range) {
  bindings_[var.get()] = {value, depth(), bounded, bound_++};
  if (range)
    ranges_[var] = *range;
  else
    ranges_.erase(var);
}

void KernelEmitter::set_debug_line(int line) {
  line_ = line;
  b_.SetCurrentDebugLocation(location(function_, line));
}

int KernelEmitter::line_of(const Stmt& s) const {
  const auto origin = debug_->origins.find(s.get());
  return debug_->text.statements.find(origin == debug_->origins.end() ? s : origin->second, line_);
}

void KernelEmitter::emit(const Stmt& s) {
  const int outer_line = line_;
  if (int line = debug_ ? line_of(s) : 0; line > 0) set_debug_line(line);
  begin_statement();
  emit_statement(s);
  begin_statement();
  if (line_ != outer_line) set_debug_line(outer_line);
}

void KernelEmitter::emit_statement(const Stmt& s) {
  std::visit(overloaded{
                 [&](const For& x) {
                   std::optional<IndexFacts> outside = facts_;
                   if (facts_) facts_->enter_loop(x.var, x.extent);
                   emit_for(x);
                   facts_ = std::move(outside);
                 },
                 [&](const Sequence& x) {
                   for (const Stmt& b : x.body) emit(b);
                 },
                 [&](const Store& x) { emit_store(x, emit(x.value)); },
                 [&](const Let& x) {
                   auto range = range_of(x.value, ranges_);
                   if (facts_) facts_->define(x.var, x.value);
                   bind(x.var, emit(x.value), range.has_value(), range);
                   emit(x.body);
                 },
                 [&](const Allocate& x) { emit_allocate(x); },
                 [&](const IfThen& x) { emit_if(x); },
                 [&](const Require& x) { emit_require(x); },
                 [&](const Prefetch& x) { emit_prefetch(x); },
                 [&](const IntrinsicCall& x) { emit_intrinsic(x); },
                 [&](const Outline& x) { emit_outlined_nest(x.body); },
             },
             s->v);
}

// ---- loops -----------------------------------------------------------------------------------------------

void KernelEmitter::emit_for(const For& x) {
  Linear extent = linearize(x.extent);
  if (extent.is_constant()) {
    if (extent.constant <= 0) return;
    if (x.kind == LoopKind::vector) return emit_vector_loop(x, extent.constant);
    if (x.kind == LoopKind::unrolled || extent.constant == 1) return emit_unrolled(x, extent.constant);
    if (x.kind == LoopKind::parallel && threads_ > 1 && !lanes_)
      return emit_parallel(x, b_.getInt64(static_cast<uint64_t>(extent.constant)), extent.constant);
  } else if (x.kind == LoopKind::parallel && threads_ > 1 && !lanes_) {
    return emit_parallel(x, scalar_of(extent), typical_extent(x));
  }
  emit_scalar_loop(x);
}

// The value of v and k if v = k * i is defined at the start of a loop over i whose body does not use i otherwise.
static std::optional<std::pair<const Let*, int64_t>> counted_multiple(const For& x) {
  const Let* v = as<Let>(x.body);
  const Binary* product = v ? as<Binary>(v->value) : nullptr;
  if (!product || product->op != BinaryOp::mul) return std::nullopt;
  const auto factor = constant_integer(is_var(product->a, x.var) ? product->b : product->a);
  if (!factor || *factor < 1 || (!is_var(product->a, x.var) && !is_var(product->b, x.var))) return std::nullopt;
  bool is_only_use = true;
  for_each_root_expr(v->body, [&](const Expr& e) { is_only_use &= !uses(e, x.var); });
  return is_only_use ? std::optional(std::pair(v, *factor)) : std::nullopt;
}

void KernelEmitter::emit_scalar_loop(const For& x) {
  Linear extent = linearize(x.extent);
  if (const auto multiple = extent.is_constant() ? counted_multiple(x) : std::nullopt) {
    const auto& [v, factor] = *multiple;
    if (facts_) facts_->define(v->var, v->value);
    return emit_loop(v->var, b_.getInt64(static_cast<uint64_t>(extent.constant * factor)), factor, false,
                     [&](Value*, std::optional<Range>) { emit(v->body); });
  }
  auto known = range_of(x.extent, ranges_);
  std::optional<Range> range;
  if (known) range = Range{0, std::max<int64_t>(known->high - 1, 0)};
  emit_loop(x.var, b_.getInt64(0), scalar_of(extent), 1, !known || known->low < 1, range,
            [&](Value*, std::optional<Range>) { emit(x.body); });
}

void KernelEmitter::emit_unrolled(const For& x, int64_t extent) {
  for (int64_t i = 0; i < extent; ++i) {
    bind(x.var, b_.getInt64(i), true, Range{i, i});
    emit(x.body);
  }
}

void KernelEmitter::emit_loop(const Var& var, Value* end, int64_t step, bool may_be_empty,
                              const std::function<void(Value*, std::optional<Range>)>& body) {
  std::optional<Range> range;
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(end)) range = Range{0, known->getSExtValue() - step};
  emit_loop(var, b_.getInt64(0), end, step, may_be_empty, range, body);
}

void KernelEmitter::emit_loop(const Var& var, Value* begin, Value* end, int64_t step, bool may_be_empty,
                              std::optional<Range> range,
                              const std::function<void(Value*, std::optional<Range>)>& body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(end);
  const int64_t most = number ? number->getSExtValue() : range ? range->high + step : INT64_MAX;
  llvm::Type* counter_type = this->counter_type(most);
  Value *first_count = b_.CreateTrunc(begin, counter_type), *last_count = b_.CreateTrunc(end, counter_type);
  auto* loop = llvm::BasicBlock::Create(b_.getContext(), var->name, function_);
  auto* after = llvm::BasicBlock::Create(b_.getContext(), var->name + ".end", function_);
  if (may_be_empty)
    b_.CreateCondBr(b_.CreateICmpSGT(end, begin), loop, after);
  else
    b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* counter = b_.CreatePHI(counter_type, 2, var->name);
  Value* index = b_.CreateSExt(counter, b_.getInt64Ty());
  auto *first = llvm::dyn_cast<llvm::ConstantInt>(begin), *last = llvm::dyn_cast<llvm::ConstantInt>(end);
  std::optional<int64_t> iterations;
  if (first && last) iterations = (last->getSExtValue() - first->getSExtValue()) / step;
  loops_.push_back({before, loop, index, begin, step, iterations, depth() + 1, branches_});
  bind(var, index, true, range);
  body(index, range);
  advance_pointers();
  loops_.pop_back();
  // If the counter is not used, because pointers replaced it, the loop counts down to zero, which saves a comparison.
  bool down = iterations && index->use_empty();
  if (down) first_count = constant_like(counter, *iterations), last_count = constant_like(counter, 0);
  if (auto* conversion = llvm::dyn_cast<llvm::SExtInst>(index); conversion && conversion->use_empty())
    conversion->eraseFromParent();
  Value* next = b_.CreateAdd(counter, constant_like(counter, down ? -1 : step), "", !down, true);
  counter->addIncoming(first_count, before);
  counter->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(next, last_count), loop, after, backedge_weights(range, step));
  after->moveAfter(b_.GetInsertBlock());
  b_.SetInsertPoint(after);
}

// Branch weights of a loop's back edge. The register allocator weighs code by its frequency, which LLVM would otherwise
// guess from the loop depth. Null if the trip count is unknown.
llvm::MDNode* KernelEmitter::backedge_weights(std::optional<Range> range, int64_t step) {
  int64_t taken = range && step > 0 ? (range->high - range->low) / step : 0;
  if (taken < 1 || taken > std::numeric_limits<int32_t>::max()) return nullptr;
  return llvm::MDBuilder(b_.getContext()).createBranchWeights(static_cast<uint32_t>(taken), 1);
}

// A vector: all iterations of the loop at once (tensor/passes/strip_mine_vector_loops.h).
void KernelEmitter::emit_vector_loop(const For& x, int64_t extent) {
  ranges_[x.var] = {0, extent - 1};
  lanes_ = Lanes{x.var.get(), static_cast<int>(extent)};
  emit(x.body);
  lanes_.reset();
}

// ---- other statements ------------------------------------------------------------------------------------

// The variable v and the extent E of a condition 0 <= v and v < E.
static std::optional<std::pair<const VarNode*, Dim>> guarded_index(const Expr& condition) {
  const Binary* both = as<Binary>(condition);
  if (!both || both->op != BinaryOp::logical_and) return std::nullopt;
  const Binary *low = as<Binary>(both->a), *high = as<Binary>(both->b);
  if (!low || !high || low->op != BinaryOp::ge || high->op != BinaryOp::lt) return std::nullopt;
  const VarRef *v = as<VarRef>(low->a), *same = as<VarRef>(high->a);
  const auto begin = constant_integer(low->b), end = constant_integer(high->b);
  return v && same && v->var == same->var && begin == 0 && end ? std::optional(std::pair(v->var.get(), Dim(*end)))
                                                               : std::nullopt;
}

void KernelEmitter::emit_if(const IfThen& x) {
  // 32-bit ARM has no masked loads, and a predicate costs several instructions.
  const auto guarded = is_arm32() ? guarded_index(x.condition) : std::nullopt;
  Value* condition = emit(x.condition);
  auto* then_block = llvm::BasicBlock::Create(b_.getContext(), "then", function_);
  auto* else_block = x.else_body ? llvm::BasicBlock::Create(b_.getContext(), "else", function_) : nullptr;
  auto* after = llvm::BasicBlock::Create(b_.getContext(), "endif", function_);
  b_.CreateCondBr(condition, then_block, else_block ? else_block : after);
  std::optional<IndexFacts> outside = facts_;
  if (facts_) facts_->assume(x.condition);
  auto arm = [&](llvm::BasicBlock* block, const Stmt& body) {
    b_.SetInsertPoint(block);
    ++branches_;
    if (body) emit(body);
    --branches_;
    b_.CreateBr(after);
  };
  if (guarded) guarded_indices_.insert(*guarded);
  arm(then_block, x.then_body);
  facts_ = std::move(outside);
  if (guarded) guarded_indices_.erase(guarded->first);
  if (else_block) arm(else_block, x.else_body);
  after->moveAfter(b_.GetInsertBlock());
  b_.SetInsertPoint(after);
}

void KernelEmitter::emit_require(const Require& x) {
  Value* holds = emit(x.condition);
  if (is_vector(holds)) holds = b_.CreateAndReduce(holds);
  auto* fails = llvm::BasicBlock::Create(b_.getContext(), "fails", function_);
  auto* after = llvm::BasicBlock::Create(b_.getContext(), "holds", function_);
  b_.CreateCondBr(holds, after, fails);
  b_.SetInsertPoint(fails);
  b_.CreateRet(b_.getInt32(static_cast<uint32_t>(x.status)));
  b_.SetInsertPoint(after);
}

void KernelEmitter::emit_allocate(const Allocate& x) {
  const BufferNode& buffer = *x.buffer;
  int64_t elements = (product(buffer.shape).value() * bits(buffer.type) + 7) / std::max(bits(buffer.type), 8);
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  auto* slot = at_entry.CreateAlloca(llvm::ArrayType::get(storage_type(buffer.type), static_cast<uint64_t>(elements)),
                                     nullptr, buffer.name);
  int64_t size = elements * element_bytes(buffer.type);
  auto alignment = std::max(
      buffer.alignment,
      std::min<int64_t>(level_.machine.vector_bytes,
                        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(size, 1))))));
  slot->setAlignment(llvm::Align(static_cast<uint64_t>(alignment)));
  memory_[&buffer] = {slot, alignment, product(buffer.shape).value()};
  emit(x.body);
}

// ---- interface -------------------------------------------------------------------------------------------

static bool forks(const Kernel& kernel, int threads) {
  bool result = false;
  for_each_stmt(kernel.body, [&](const Stmt& s) {
    const For* loop = as<For>(s);
    result |= loop && loop->kind == LoopKind::parallel;
  });
  return result && threads > 1;
}

bool forks(const lower::KernelVariants& kernel, int threads) {
  return std::ranges::any_of(kernel.variants, [&](const Kernel& variant) { return forks(variant, threads); });
}

llvm::Function* declare_kernel(llvm::Module& module, const std::string& symbol, const lower::KernelVariants& variants,
                               int threads) {
  llvm::LLVMContext& context = module.getContext();
  const Kernel& kernel = variants.variants[0];
  auto* pointer = llvm::PointerType::getUnqual(context);
  std::vector<llvm::Type*> params(kernel.params.size(), pointer);
  for (const Var& v : kernel.scalars) params.push_back(type_of_scalar(context, v->type));
  if (forks(variants, threads)) params.push_back(pointer);
  const bool has_status = std::ranges::any_of(variants.variants, [](const Kernel& k) { return can_fail(k); });
  auto* result =
      has_status ? static_cast<llvm::Type*>(llvm::Type::getInt32Ty(context)) : llvm::Type::getVoidTy(context);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, params, false),
                                          llvm::GlobalValue::ExternalLinkage, symbol, module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->setDSOLocal(true);
  function->setDoesNotThrow();
  return function;
}

void assume_aligned_stack(llvm::Module& module) {
  if (llvm::Triple(module.getTargetTriple()).isX86()) module.setOverrideStackAlignment(tensor::storage_alignment);
}

void align_stack(llvm::Function& f) {
  if (f.getParent()->getOverrideStackAlignment()) f.addFnAttr("stackrealign");
}

void emit_kernel(llvm::Function* function, const Kernel& kernel, const std::vector<bool>& may_alias,
                 const CodeLevel& level, const llvm::MCSubtargetInfo& cpu, int threads, const KernelDebug* debug) {
  llvm::LLVMContext& context = function->getContext();
  for (unsigned i = 0; i < kernel.params.size(); ++i) {
    const BufferNode& buffer = *kernel.params[i].buffer;
    llvm::AttrBuilder attributes(context);
    if (!may_alias[i]) attributes.addAttribute(llvm::Attribute::NoAlias);
    attributes.addAttribute(llvm::Attribute::NoCapture);
    if (kernel.params[i].access == Access::read) attributes.addAttribute(llvm::Attribute::ReadOnly);
    attributes.addAlignmentAttr(
        llvm::Align(static_cast<uint64_t>(std::max(buffer.alignment, element_bytes(buffer.type)))));
    auto elements = product(buffer.shape).constant();
    if (int64_t bytes = elements ? storage_bytes(buffer.type, *elements) : 0; bytes > 0)
      attributes.addDereferenceableAttr(static_cast<uint64_t>(bytes));
    function->addParamAttrs(i, attributes);
  }
  KernelEmitter(level, cpu, kernel, function, forks(kernel, threads) ? threads : 1, debug).emit();
}

}  // namespace dlcc::targets
