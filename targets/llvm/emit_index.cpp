// Indices as linear forms over loop counters and the vector's lane: their sums, addresses and bounds.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "targets/llvm/kernel_emitter.h"
#include "tensor/linear.h"
#include "tensor/visit.h"

namespace dlcc::targets {

using namespace tensor;

namespace {

bool is_var_node(const Expr& e, const VarNode* v) {
  const VarRef* ref = as<VarRef>(e);
  return ref && ref->var.get() == v;
}

// Larger than any index; a sum of a few such numbers does not overflow.
constexpr int64_t range_limit = int64_t{1} << 50;

}  // namespace

// ---- linear forms ----------------------------------------------------------------------------------------

void scale(llvm::IRBuilder<>& b, Linear& x, int64_t by) {
  x.constant = wrapping_mul(x.constant, by);
  x.lane = wrapping_mul(x.lane, by);
  for (Linear::Term& t : x.terms) t.coefficient = wrapping_mul(t.coefficient, by);
  for (Linear::Term& t : x.lane_terms) t.coefficient = wrapping_mul(t.coefficient, by);
  if (x.varying && by != 1) x.varying = b.CreateMul(x.varying, llvm::ConstantInt::get(x.varying->getType(), by, true));
}

static void add(std::vector<Linear::Term>& sum, const std::vector<Linear::Term>& terms) {
  for (const Linear::Term& t : terms) {
    auto same = std::ranges::find(sum, t.value, &Linear::Term::value);
    if (same == sum.end())
      sum.push_back(t);
    else if ((same->coefficient = wrapping_add(same->coefficient, t.coefficient)) == 0)
      sum.erase(same);
  }
}

void add(llvm::IRBuilder<>& b, Linear& x, const Linear& y) {
  x.constant = wrapping_add(x.constant, y.constant);
  x.lane = wrapping_add(x.lane, y.lane);
  x.bounded &= y.bounded;
  add(x.terms, y.terms);
  add(x.lane_terms, y.lane_terms);
  if (y.varying) x.varying = x.varying ? b.CreateAdd(x.varying, y.varying) : y.varying;
}

std::optional<Range> Linear::range(int lanes) const {
  if (varying || !lane_terms.empty() || std::abs(constant) > range_limit || std::abs(lane) > range_limit / 64)
    return std::nullopt;
  Range sum{constant, constant};
  auto add = [&](int64_t coefficient, Range r) {
    int64_t a, b;
    if (__builtin_mul_overflow(coefficient, r.low, &a) || __builtin_mul_overflow(coefficient, r.high, &b)) return false;
    if (std::abs(a) > range_limit || std::abs(b) > range_limit) return false;
    sum.low += std::min(a, b), sum.high += std::max(a, b);
    return true;
  };
  if (!add(lane, {0, lanes - 1})) return std::nullopt;
  for (const Term& t : terms)
    if (!t.range || !add(t.coefficient, *t.range)) return std::nullopt;
  return sum;
}

Linear KernelEmitter::linearize(const Expr& e) {
  auto atom = [&](Value* v, int depth, bool bounded, std::optional<Range> range) {
    Linear result;
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(v)) {
      result.constant = constant->getSExtValue();
    } else if (is_vector(v)) {
      result.varying = v;
      result.bounded = false;
    } else {
      result.terms.push_back({v, 1, depth, range});
      result.bounded = bounded;
    }
    return result;
  };
  if (auto known = constant_integer(e)) {
    Linear result;
    result.constant = *known;
    return result;
  }
  if (const VarRef* ref = as<VarRef>(e)) {
    if (lanes_ && is_var_node(e, lanes_->var)) return {.lane = 1};
    if (auto it = bindings_.find(ref->var.get()); it != bindings_.end())
      return atom(it->second.value, it->second.depth, it->second.bounded, range_of(e, ranges_));
  }
  if (const Binary* x = as<Binary>(e)) {
    if (x->op == BinaryOp::add || x->op == BinaryOp::sub) {
      Linear a = linearize(x->a), b = linearize(x->b);
      if (x->op == BinaryOp::sub) scale(b_, b, -1);
      add(b_, a, b);
      return a;
    }
    if (x->op == BinaryOp::mul) {
      Linear a = linearize(x->a), b = linearize(x->b);
      if (a.is_constant()) std::swap(a, b);
      if (b.is_constant()) {
        scale(b_, a, b.constant);
        return a;
      }
      if (auto product = lane_product(x->a, x->b)) return *product;
    }
  }
  // Loop-invariant: hoisted.
  auto invariant = [&](const Invariant& i) { return atom(i.value, i.depth, i.range.has_value(), i.range); };
  if (const Invariant* known = find_invariant(e)) return invariant(*known);
  const auto depth = depth_of(e);
  if (depth && depends_on_sizes_only(e)) return invariant(emit_hoisted(&function_->getEntryBlock(), of_sizes_, e, 0));
  auto loop = std::ranges::find_if(loops_, [&](const Loop& l) { return depth && l.depth > *depth; });
  if (loop != loops_.end()) return invariant(emit_hoisted(loop->preheader, loop->invariants, e, *depth));
  const auto range = range_of(e, ranges_);
  return atom(emit(e), innermost, range.has_value(), range);
}

std::optional<Linear> KernelEmitter::lane_product(const Expr& a, const Expr& b) {
  auto is_lane = [&](const Expr& e) { return lanes_ && is_var_node(e, lanes_->var); };
  const Expr& factor = is_lane(a) ? b : a;
  if (!is_lane(is_lane(a) ? a : b) || !depth_of(factor)) return std::nullopt;
  const Linear step = linearize(factor);
  return Linear{.lane = step.constant, .lane_terms = step.terms, .bounded = step.bounded};
}

const KernelEmitter::Invariant* KernelEmitter::find_invariant(const Expr& e) const {
  auto find = [&](const Invariants& all) {
    const auto known = std::ranges::find_if(all, [&](const Invariant& i) { return structurally_equal(i.e, e); });
    return known != all.end() ? &*known : nullptr;
  };
  if (const Invariant* known = find(of_sizes_)) return known;
  for (const Loop& loop : loops_)
    if (const Invariant* known = find(loop.invariants)) return known;
  return nullptr;
}

// Emits the expression at the end of a block.
const KernelEmitter::Invariant& KernelEmitter::emit_hoisted(llvm::BasicBlock* block, Invariants& invariants,
                                                            const Expr& e, int depth) {
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  if (llvm::Instruction* terminator = block->getTerminator())
    b_.SetInsertPoint(terminator);
  else
    b_.SetInsertPoint(block);
  std::vector<Memo> memos(1);  // values at the insertion point so far do not dominate the block
  std::swap(memos, memos_);
  Value* value = emit(e);
  std::swap(memos, memos_);
  return invariants.emplace_back(Invariant{e, value, depth, range_of(e, ranges_)});
}

bool KernelEmitter::depends_on_sizes_only(const Expr& e) {
  bool result = false;
  for (const Var& v : variables_in(e)) {
    if (!is_symbol_var(v)) return false;
    result = true;
  }
  return result;
}

// The smallest loop depth at which all variables of the expression are bound. Empty unless the expression is arithmetic
// on scalars that may be executed speculatively.
std::optional<int> KernelEmitter::depth_of(const Expr& e) const {
  if (constant_integer(e)) return 0;
  if (const VarRef* ref = as<VarRef>(e)) {
    auto it = bindings_.find(ref->var.get());
    if (it == bindings_.end() || (lanes_ && ref->var.get() == lanes_->var)) return std::nullopt;
    bool fixed = llvm::isa<llvm::Constant>(it->second.value);  // in this copy of an unrolled loop
    return fixed ? std::nullopt : std::optional(it->second.depth);
  }
  const Binary* x = as<Binary>(e);
  if (!x) return std::nullopt;
  auto a = depth_of(x->a), b = depth_of(x->b);
  auto divisor = constant_integer(x->b);
  switch (x->op) {
    case BinaryOp::floor_div:
    case BinaryOp::floor_mod:
      if (!divisor || *divisor == 0) return std::nullopt;
      [[fallthrough]];
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::min:
    case BinaryOp::max:
      return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

const Shape& KernelEmitter::strides_of(const BufferNode& buffer) {
  auto [it, is_new] = strides_.try_emplace(&buffer);
  Shape& strides = it->second;
  if (!is_new) return strides;
  strides = shape_of(buffer.strides);
  if (strides.empty()) strides.resize(buffer.shape.size(), 1);
  for (size_t d = strides.size(); buffer.strides.empty() && d-- > 1;) strides[d - 1] = strides[d] * buffer.shape[d];
  return strides;
}

// Returns an equal expression that lives as long as the memo of the current statement, whose keys are node addresses.
Expr KernelEmitter::kept(const Expr& e) {
  auto known = std::ranges::find_if(kept_, [&](const Expr& k) { return structurally_equal(k, e); });
  return known != kept_.end() ? *known : kept_.emplace_back(e);
}

Value* KernelEmitter::value_of(const Dim& d) { return scalar_of(linearize(kept(Expr(d)))); }

// The greatest number that divides all coefficients.
static int64_t common_factor(const Dim& d) {
  int64_t factor = 0;
  for (const Dim::Term& t : d.terms()) factor = std::gcd(factor, t.coefficient);
  return std::max<int64_t>(factor, 1);
}

// index * stride. A symbolic stride multiplies each term of the index, so that products with counters of outer loops
// are hoisted out of inner loops.
Linear KernelEmitter::times(const Expr& index, const Dim& stride) {
  Linear result;
  if (auto number = stride.constant()) {
    result = linearize(index);
    scale(b_, result, *number);
    return result;
  }
  const int64_t factor = common_factor(stride);
  const Expr rest(floor_div(stride, factor));
  auto add_product = [&](const Expr& e, int64_t coefficient) {
    Linear product = linearize(kept(e));
    scale(b_, product, wrapping_mul(coefficient, factor));
    add(b_, result, product);
  };
  ExprOrder order;
  const tensor::Linear form = linear_form(index, order);
  for (const auto& [atom, coefficient] : form.terms) add_product(atom * rest, coefficient);
  if (form.constant != 0) add_product(rest, form.constant);
  return result;
}

Linear KernelEmitter::flatten(const BufferNode& buffer, const std::vector<Expr>& indices) {
  Linear result;
  const Shape& strides = strides_of(buffer);
  for (size_t d = indices.size(); d-- > 0;) add(b_, result, times(indices[d], strides[d]));
  // If several dimensions depend on the lane, their sum may still be contiguous or of constant stride.
  auto lanes = result.varying ? known_lanes(result) : std::nullopt;
  int64_t step = lanes && lanes->size() > 1 ? (*lanes)[1] - (*lanes)[0] : 0;
  bool even = lanes.has_value();
  for (size_t k = 1; even && k < lanes->size(); ++k) even = (*lanes)[k] - (*lanes)[k - 1] == step;
  if (even) {
    result.varying = nullptr;
    result.lane = step;
    result.constant = wrapping_add(result.constant, lanes->front());
  }
  return result;
}

std::optional<std::vector<int64_t>> KernelEmitter::known_lanes(const Linear& x) const {
  std::vector<int64_t> lanes;
  auto* varying = llvm::dyn_cast_or_null<llvm::Constant>(x.varying);
  if (!lanes_ || (x.varying && !varying) || !x.lane_terms.empty()) return std::nullopt;
  for (int k = 0; k < lanes_->count; ++k) {
    lanes.push_back(wrapping_mul(k, x.lane));
    if (!varying) continue;
    auto* element = llvm::dyn_cast_or_null<llvm::ConstantInt>(varying->getAggregateElement(static_cast<unsigned>(k)));
    if (!element) return std::nullopt;
    lanes.back() = wrapping_add(lanes.back(), element->getSExtValue());
  }
  return lanes;
}

Value* KernelEmitter::scalar_of(const Linear& x) {
  Value* sum = nullptr;
  std::vector<Linear::Term> terms = x.terms;
  std::stable_sort(terms.begin(), terms.end(), [](auto& a, auto& b) { return a.depth < b.depth; });
  for (const Linear::Term& t : terms) {
    Value* product = b_.CreateMul(t.value, b_.getInt64(t.coefficient), "", false, x.bounded);
    sum = sum ? b_.CreateAdd(sum, product, "", false, x.bounded) : product;
  }
  if (!sum) return b_.getInt64(x.constant);
  return x.constant ? b_.CreateAdd(sum, b_.getInt64(x.constant), "", false, x.bounded) : sum;
}

Value* KernelEmitter::step_of_lanes(const Linear& x) {
  Linear step;
  step.constant = x.lane, step.terms = x.lane_terms, step.bounded = x.bounded;
  return scalar_of(step);
}

Value* KernelEmitter::vector_of(const Linear& x) {
  Value* sum = splat(scalar_of(x));
  if (x.lane || !x.lane_terms.empty()) {
    Value* lane = b_.CreateStepVector(sum->getType());
    sum = b_.CreateAdd(sum, b_.CreateMul(lane, splat(step_of_lanes(x))));
  }
  return x.varying ? b_.CreateAdd(sum, x.varying) : sum;
}

llvm::Align KernelEmitter::alignment_of(const Memory& memory, const Linear& offset, int64_t element_bytes) {
  int64_t known = std::gcd(memory.alignment, wrapping_mul(offset.constant, element_bytes));
  for (const Linear::Term& t : offset.terms) {
    // Conservative: the base of a vector iteration is a multiple of its number of lanes, which is not used here.
    known = std::gcd(known, wrapping_mul(t.coefficient, element_bytes));
  }
  for (const Linear::Term& t : offset.lane_terms) known = std::gcd(known, wrapping_mul(t.coefficient, element_bytes));
  return llvm::Align(static_cast<uint64_t>(known & -known));
}

llvm::Align KernelEmitter::alignment_of_lane(const Memory& memory, const Linear& offset, int64_t element_bytes,
                                             int lane) {
  Linear at = offset;
  at.constant += lane * offset.lane;
  return alignment_of(memory, at, element_bytes);
}

// ---- bounds ----------------------------------------------------------------------------------------------

Value* KernelEmitter::inside(const Linear& index, const Dim& extent) {
  auto number = extent.constant();
  if (auto range = number ? index.range(lanes_ ? lanes_->count : 1) : std::nullopt) {
    if (range->low >= 0 && range->high < *number) return nullptr;
    if (range->high < 0 || range->low >= *number) return b_.getFalse();
  }
  Value* end = number ? b_.getInt64(static_cast<uint64_t>(*number)) : value_of(extent);
  if (index.is_uniform()) return b_.CreateICmpULT(scalar_of(index), end);
  if (index.is_contiguous()) {
    // Lanes [low, high) are inside. Comparisons of 32 bits take half the vectors that comparisons of 64 bits take.
    Value *base = scalar_of(index), *zero = b_.getInt64(0), *count = b_.getInt64(lanes_->count);
    auto clamped = [&](Value* v) {
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v, zero);
      v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v, count);
      return splat(b_.CreateTrunc(v, b_.getInt32Ty()));
    };
    Value *low = clamped(b_.CreateSub(zero, base)), *high = clamped(b_.CreateSub(end, base));
    Value* lane = b_.CreateStepVector(low->getType());
    return b_.CreateAnd(b_.CreateICmpSGE(lane, low), b_.CreateICmpSLT(lane, high));
  }
  return b_.CreateICmpULT(vector_of(index), splat(end));
}

}  // namespace dlcc::targets
