#include "tensor/passes/split_axes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tensor/analysis.h"
#include "tensor/dim_of.h"
#include "tensor/index_facts.h"
#include "tensor/simplify.h"
#include "tensor/simplify_symbolic.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The division, if the expression is a quotient (floor_div) or a remainder (floor_mod); else null.
const Binary* as_division(const Expr& e, BinaryOp op) {
  const Binary* x = as<Binary>(e);
  return x && x->op == op ? x : nullptr;
}

class AxisSplitter {
 public:
  AxisSplitter(TensorFunction& f, const std::vector<Layout>& layouts) : f_(f), layouts_(layouts) {
    for (const Symbol& s : symbols_of(f)) symbols_.emplace(scalar_of(s), Dim::symbol(s));
  }

  void run() {
    while (join_one() || split_one()) {
      const Ranges ranges = ranges_of(stage());
      for (Expr& value : stage().values) value = simplify(value, ranges);
      simplify_symbolic(f_);
    }
  }

 private:
  Stage& stage() { return f_.stages[0]; }

  // The expression as a dim of symbols alone.
  std::optional<Dim> size_of(const Expr& e) const {
    return dim_of(e, [&](const Var& v) {
      const auto known = symbols_.find(v);
      return known == symbols_.end() ? std::nullopt : std::optional(known->second);
    });
  }

  bool is_dense(const Buffer& b) const {
    for (size_t k = 0; k < f_.params.size(); ++k)
      if (f_.params[k] == b) return layouts_[k].is_dense();
    for (size_t k = 0; k < f_.results.size(); ++k)
      if (f_.results[k] == b) return layouts_[f_.params.size() + k].is_dense();
    return false;
  }

  std::vector<Load> loads() {
    std::vector<Load> all;
    for (const Expr& value : stage().values) std::ranges::copy(loads_of(value), std::back_inserter(all));
    return all;
  }

  // Whether all loads of the buffer fulfil the condition.
  bool all_loads(const Buffer& b, const std::function<bool(const Load&)>& condition) {
    return std::ranges::all_of(loads(), [&](const Load& l) { return l.buffer != b || condition(l); });
  }

  // ---- pairs of indices

  // The dividend of the pair of indices (d, d + 1); empty unless they are a quotient and a remainder by the size of the
  // second dimension.
  std::optional<Expr> dividend(const Load& l, size_t d) const {
    const Binary* quotient = as_division(l.indices[d], BinaryOp::floor_div);
    const Binary* remainder = as_division(l.indices[d + 1], BinaryOp::floor_mod);
    if (!quotient || !remainder || !structurally_equal(quotient->a, remainder->a)) return std::nullopt;
    const Dim& size = l.buffer->shape[d + 1];
    const bool by_size = !size.is_constant() && size_of(quotient->b) == size && size_of(remainder->b) == size;
    return by_size ? std::optional(quotient->a) : std::nullopt;
  }

  // Joins two dimensions of a parameter that all loads read at a quotient and a remainder. Predicates stay the same: a
  // quotient is in the outer dimension exactly if the dividend is in both.
  bool join_one() {
    for (const Load& l : loads())
      for (size_t d = 0; d + 1 < l.indices.size(); ++d) {
        const Buffer from = l.buffer;
        if (!is_dense(from) || !std::ranges::count(f_.params, from)) continue;
        if (!all_loads(from, [&](const Load& other) { return dividend(other, d).has_value(); })) continue;
        Shape shape = from->shape;
        shape[d] = shape[d] * shape[d + 1];
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d) + 1);
        replace(from, shape, [&](const Load& other) {
          std::vector<Expr> index = other.indices;
          index[d] = *dividend(other, d);
          index.erase(index.begin() + static_cast<std::ptrdiff_t>(d) + 1);
          return index;
        });
        return true;
      }
    return false;
  }

  // Replaces a buffer by one of another shape, and its loads by those at index(load).
  void replace(const Buffer& from, const Shape& shape, const std::function<std::vector<Expr>(const Load&)>& index) {
    const Buffer to = make_buffer(from->name, from->type, shape, from->scope, from->alignment);
    rewrite_stage(stage(), [&](const Expr& e) {
      const Load* l = as<Load>(e);
      return l && l->buffer == from ? load(to, index(*l), l->otherwise) : e;
    });
    std::ranges::replace(f_.params, from, to);
    std::ranges::replace(f_.results, from, to);
    std::ranges::replace(stage().results, from, to);
  }

  // ---- axes

  bool split_one() {
    if (!std::ranges::all_of(f_.results, [&](const Buffer& b) { return is_dense(b); })) return false;
    const std::vector<Axis>& axes = stage().axes;
    size_t innermost = axes.size();  // the last axis of more than one index
    while (innermost > 0 && axes[innermost - 1].extent == Dim(1)) --innermost;
    for (size_t k = 0; k + 1 < innermost; ++k)
      if (const auto inner = divisor_of(axes[k])) {
        split(k, *quotient(axes[k], *inner), *inner);
        return true;
      }
    return false;
  }

  // The quotient of the axis's extent by a size that divides it; empty for other sizes. The axis has indices, so that
  // no factor of its extent is zero.
  std::optional<Dim> quotient(const Axis& axis, const Dim& size) {
    const auto division = facts_within(stage(), symbols_of(f_)).facts().divide(axis.extent, size);
    return division && division->remainder == Dim(0) ? std::optional(division->quotient) : std::nullopt;
  }

  // A divisor of the axis in an index of a load, if it divides the axis's extent.
  std::optional<Dim> divisor_of(const Axis& axis) {
    std::optional<Dim> found;
    for (const Load& l : loads())
      for (const Expr& index : l.indices)
        for_each_expr(index, [&](const Expr& e) {
          const Binary* x = as<Binary>(e);
          const bool divides = x && (x->op == BinaryOp::floor_div || x->op == BinaryOp::floor_mod);
          if (found || !divides || !is_var(x->a, axis.var)) return;
          if (const auto size = size_of(x->b); size && quotient(axis, *size)) found = size;
        });
    return found;
  }

  // Splits axis `k` into `outer` times `inner` indices. Operands that are read at the axis itself are split alike.
  void split(size_t k, const Dim& outer, const Dim& inner) {
    const Axis axis = stage().axes[k];
    const Var o = make_var(axis.var->name), r = make_var(axis.var->name);
    auto halves = [&](const Shape& shape, size_t d) {
      Shape split = shape;
      split[d] = inner;
      split.insert(split.begin() + static_cast<std::ptrdiff_t>(d), outer);
      return split;
    };
    for (size_t p = 0; p < f_.params.size(); ++p)
      for (size_t d = 0; d < f_.params[p]->shape.size(); ++d) {
        const Buffer b = f_.params[p];
        auto is_axis = [&](const Load& l) { return is_var(l.indices[d], axis.var) && !l.otherwise; };
        if (!is_dense(b) || b->shape[d] != axis.extent || !all_loads(b, is_axis)) continue;
        replace(b, halves(b->shape, d), [&](const Load& l) {
          std::vector<Expr> index = l.indices;
          index[d] = r;
          index.insert(index.begin() + static_cast<std::ptrdiff_t>(d), o);
          return index;
        });
        break;
      }
    for (const Buffer& b : std::vector<Buffer>(f_.results)) replace(b, halves(b->shape, k), {});
    rewrite_stage(stage(), [&](const Expr& e) { return is_var(e, axis.var) ? Expr(o) * Expr(inner) + Expr(r) : e; });
    std::vector<Axis>& axes = stage().axes;
    axes[k] = {r, inner};
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(k), {o, outer});
  }

  TensorFunction& f_;
  const std::vector<Layout>& layouts_;
  std::map<Var, Dim> symbols_;
};

}  // namespace

void split_axes(TensorFunction& f, const std::vector<Layout>& layouts) {
  if (symbols_of(f).empty() || f.stages.size() != 1) return;
  const Stage& stage = f.stages[0];
  if (stage.body || stage.reduction || !stage.origin.empty() || !stage.requirements.empty()) return;
  AxisSplitter(f, layouts).run();
  verify_after("split_axes", f);
}

}  // namespace dlcc::tensor
