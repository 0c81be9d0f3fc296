#include "tensor/passes/apply_layouts.h"

#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/index_facts.h"
#include "tensor/layout.h"
#include "tensor/simplify.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

Expr zero(DType type) { return literal(type, int64_t{0}); }

class LayoutApplier {
 public:
  LayoutApplier(const std::map<Buffer, Layout>& layouts, const std::vector<Symbol>& symbols)
      : layouts_(layouts), ranges_(ranges_of(symbols)) {
    if (!symbols.empty()) facts_.emplace(symbols);
  }

  Buffer physical(const Buffer& b) {
    auto layout = layouts_.find(b);
    if (layout == layouts_.end() || layout->second.is_dense()) return b;
    Buffer& p = buffers_[b];
    if (!p) p = make_buffer(b->name, b->type, physical_shape(layout->second, b->shape), b->scope, b->alignment);
    return p;
  }

  Stmt run(const Stmt& s) {
    if (!s) return s;
    return std::visit(
        overloaded{
            [&](const For& x) { return loop(x); },
            [&](const Sequence& x) {
              std::vector<Stmt> body;
              for (const Stmt& b : x.body) body.push_back(run(b));
              return sequence(std::move(body));
            },
            [&](const Store& x) { return access(x); },
            [&](const Let& x) {
              Expr value = expr(x.value);
              auto range = value.type() == dtype::i64 ? range_of(value, ranges_) : std::nullopt;
              if (range) ranges_[x.var] = *range;
              if (facts_) facts_->define(x.var, value);
              Stmt body = run(x.body);
              return body ? let(x.var, value, body) : nullptr;
            },
            [&](const Allocate& x) {
              Stmt body = run(x.body);
              return body ? allocate(x.buffer, body) : nullptr;
            },
            [&](const IfThen& x) {
              Expr condition = expr(x.condition);
              const Ranges outside = ranges_;
              const std::optional<IndexFacts> facts_outside = facts_;
              assume(condition);
              Stmt a = run(x.then_body);
              ranges_ = outside;
              facts_ = facts_outside;
              Stmt b = run(x.else_body);
              ranges_ = outside;
              facts_ = facts_outside;
              return a || b ? if_then(condition, a, b) : nullptr;
            },
            [&](const Require& x) {
              Expr condition = expr(x.condition);
              assume(condition);
              return constant_integer(condition) == 1 ? nullptr : require(condition, x.status);
            },
            [&](const Prefetch& x) {
              return make_stmt(Prefetch{physical(x.buffer), indices(x.buffer, exprs(x.indices)), x.cache});
            },
            [&](const IntrinsicCall& x) {
              std::vector<Region> operands;
              for (const Region& r : x.operands) operands.push_back({r.buffer, exprs(r.begin)});
              return make_stmt(IntrinsicCall{x.intrinsic, std::move(operands)});
            },
            [&](const Outline& x) { return outline(run(x.body)); },
        },
        s->v);
  }

 private:
  Stmt loop(const For& x) {
    Expr extent = expr(x.extent);
    auto bound = range_of(extent, ranges_);
    const int64_t high = bound ? std::min(bound->high, max_elements) : max_elements;
    if (high <= 0) return nullptr;
    ranges_[x.var] = {0, high - 1};
    const Ranges outside = ranges_;
    const std::optional<IndexFacts> facts_outside = facts_;
    if (facts_) facts_->enter_loop(x.var, extent);
    Stmt body = run(x.body);
    ranges_ = outside;
    facts_ = facts_outside;
    return for_loop(x.var, extent, x.kind, body);
  }

  std::vector<Expr> exprs(const std::vector<Expr>& list) {
    std::vector<Expr> result;
    for (const Expr& e : list) result.push_back(expr(e));
    return result;
  }

  // The condition holds in the statements that follow.
  void assume(const Expr& condition) {
    narrow_ranges(condition);
    if (facts_) facts_->assume(condition);
  }

  // Narrows the ranges of variables that the condition compares with constants.
  void narrow_ranges(const Expr& condition) {
    const Binary* b = as<Binary>(condition);
    if (!b) return;
    if (b->op == BinaryOp::logical_and) return narrow_ranges(b->a), narrow_ranges(b->b);
    const VarRef* ref = as<VarRef>(b->a);
    auto bound = constant_integer(b->b);
    if (!ref || !bound || ref->var->type != dtype::i64) return;
    if (b->op == BinaryOp::ge) ranges_.try_emplace(ref->var, Range{*bound, INT64_MAX});
    auto range = ranges_.find(ref->var);
    if (range == ranges_.end()) return;
    if (b->op == BinaryOp::ge) range->second.low = std::max(range->second.low, *bound);
    if (b->op == BinaryOp::lt) range->second.high = std::min(range->second.high, *bound - 1);
  }

  Expr expr(const Expr& e) {
    Expr mapped = rewrite(e, [&](const Expr& x) {
      const Load* l = as<Load>(x);
      return l ? access(*l) : x;
    });
    return simplify(mapped, ranges_);
  }

  std::vector<Expr> indices(const Buffer& b, const std::vector<Expr>& logical) const {
    auto layout = layouts_.find(b);
    if (layout != layouts_.end() && !layout->second.is_dense()) return physical_index(layout->second, logical, ranges_);
    std::vector<Expr> result;
    for (const Expr& i : logical) result.push_back(simplify(i, ranges_));
    return result;
  }

  bool is_inside(const Expr& index, const Dim& extent) const {
    return provably_in_range(index, extent, ranges_) || (facts_ && facts_->in_range(index, extent));
  }

  Expr inside(const std::vector<Expr>& index, const Shape& shape) const {
    Expr all = literal(dtype::boolean, int64_t{1});
    for (size_t d = 0; d < index.size(); ++d)
      if (!is_inside(index[d], shape[d]))
        all = logical_and(all, logical_and(index[d] >= Expr(0), index[d] < Expr(shape[d])));
    return all;
  }

  Expr access(const Load& l) {
    Buffer b = physical(l.buffer);
    std::vector<Expr> at = indices(l.buffer, l.indices);
    Expr otherwise = l.otherwise;
    bool safe = true;
    for (size_t d = 0; d < at.size() && b->scope != Scope::reg; ++d) safe = safe && is_inside(at[d], b->shape[d]);
    Expr value = load(b, at, safe ? Expr() : otherwise ? otherwise : zero(l.buffer->type));
    if (!otherwise) return value;
    // An index out of range may still be stored: in the padding of the last block, or in a halo.
    for (size_t axis = 0; axis < l.indices.size(); ++axis) {
      const Expr& index = l.indices[axis];
      const Dim& extent = l.buffer->shape[axis];
      Stored stored = stored_beyond(l.buffer, static_cast<int>(axis));
      if (stored == Stored::nothing || is_inside(index, extent) ||
          (stored == Stored::zeros && is_literal(otherwise, 0)))
        continue;
      Expr inside = index < Expr(extent);
      if (stored == Stored::zeros) inside = logical_and(index >= Expr(0), inside);
      value = select(simplify(inside, ranges_), value, otherwise);
    }
    return value;
  }

  // The contents of the storage beyond the logical extent of an axis.
  enum class Stored : uint8_t { nothing, padding, zeros };
  Stored stored_beyond(const Buffer& b, int axis) const {
    auto layout = layouts_.find(b);
    if (layout == layouts_.end()) return Stored::nothing;
    const auto& parts = layout->second.parts;
    if (std::ranges::count(parts, axis, &Layout::Part::axis) > 1) return Stored::padding;
    bool with_halo = std::ranges::any_of(parts, [&](const Layout::Part& p) {
      return p.axis == axis && has_halo(p, b->shape[static_cast<size_t>(axis)]);
    });
    return with_halo ? Stored::zeros : Stored::nothing;
  }

  Stmt access(const Store& s) {
    Buffer b = physical(s.buffer);
    std::vector<Expr> at = indices(s.buffer, exprs(s.indices));
    Stmt stored = store(b, at, expr(s.value));
    Expr condition = b->scope == Scope::reg ? Expr() : inside(at, b->shape);
    return condition && constant_integer(condition) != 1 ? if_then(condition, stored) : stored;
  }

  const std::map<Buffer, Layout>& layouts_;
  std::map<Buffer, Buffer> buffers_;
  Ranges ranges_;
  std::optional<IndexFacts> facts_;  // with symbols only
};

}  // namespace

Kernel apply_layouts(const Kernel& kernel, const std::map<Buffer, Layout>& layouts) {
  LayoutApplier applier(layouts, symbols_of(kernel));
  Kernel result{kernel.name, {}, nullptr, kernel.scalars};
  for (const Parameter& p : kernel.params) result.params.push_back({applier.physical(p.buffer), p.access});
  result.body = applier.run(kernel.body);
  if (!result.body) result.body = make_stmt(Sequence{});
  verify_after("apply_layouts", result);
  return result;
}

}  // namespace dlcc::tensor
