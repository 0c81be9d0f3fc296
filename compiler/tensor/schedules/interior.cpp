#include "tensor/schedules/interior.h"

#include <algorithm>
#include <iterator>

#include "tensor/index_facts.h"
#include "tensor/simplify.h"
#include "tensor/simplify_symbolic.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class InteriorFinder {
 public:
  InteriorFinder(const std::vector<Expr>& values, const StorageLoops& loops, size_t loop)
      : values_(values), var_(loops.vars[loop]), extent_(loops.extents[loop]) {
    std::vector<Symbol> symbols;
    auto add_symbols = [&](const Dim& d) { std::ranges::copy(d.symbols(), std::back_inserter(symbols)); };
    for (const Expr& value : values)
      for (const Load& l : loads_of(value)) {
        if (uses(l, var_)) loads_.push_back(l);
        std::ranges::for_each(l.buffer->shape, add_symbols);
      }
    std::ranges::for_each(loops.extents, add_symbols);
    outside_.emplace(symbols);
    for (size_t k = 0; k < loops.vars.size(); ++k)
      if (k != loop) outside_->enter_loop(loops.vars[k], Expr(loops.extents[k]));
  }

  std::optional<Interior> run() const {
    IndexFacts everywhere = *outside_;
    everywhere.enter_loop(var_, Expr(extent_));
    for (const Load& l : loads_)
      for (size_t d = 0; d < l.indices.size(); ++d)
        if (uses(l.indices[d], var_) && !is_contiguous(l, d)) return around(l, d, everywhere);
    return std::nullopt;
  }

 private:
  // Whether the load's index in dimension `d` is the variable plus an invariant.
  bool is_contiguous(const Load& l, size_t d) const { return !l.otherwise && stride_along(l.indices[d], var_) == 1; }

  // The range in which a sub-expression variable + shift of the index is an index of the dimension, if all loads are
  // contiguous there.
  std::optional<Interior> around(const Load& l, size_t d, const IndexFacts& everywhere) const {
    std::optional<Interior> found;
    for_each_expr(l.indices[d], [&](const Expr& e) {
      if (found || e.type() != dtype::i64 || stride_along(e, var_) != 1) return;
      const auto begin = everywhere.value_of(Expr(var_) - e);
      const bool is_invariant = begin && std::ranges::none_of(begin->symbols(), [](const Symbol& s) {
                                  return s.name.starts_with('%');  // a loop variable
                                });
      if (!is_invariant) return;
      const Dim& size = l.buffer->shape[d];
      const Dim end = *begin + size;
      if (!provably_le(0, *begin) || !provably_le(end, extent_)) return;
      for (int64_t least = 1; !found && least <= 2; ++least)  // rows of one element cannot be mirrored
        if (std::vector<Expr> values = values_within(*begin, size, least); !values.empty())
          found = Interior{*begin, end, least, std::move(values)};
    });
    return found;
  }

  // The values for `size` values of the variable from `begin` on, if there are at least `least`; none if some load is
  // not contiguous there.
  std::vector<Expr> values_within(const Dim& begin, const Dim& size, int64_t least) const {
    IndexFacts inside = *outside_;
    const Var i = make_var("i");
    inside.assume(Expr(least) <= Expr(size));
    inside.enter_loop(i, Expr(size));
    inside.define(var_, Expr(begin) + Expr(i));
    std::vector<Expr> simple;
    for (const Expr& value : values_) {
      const Expr e = substitute(simplify_symbolic(value, inside), {{i, Expr(var_) - Expr(begin)}});
      for (const Load& l : loads_of(e))
        for (size_t d = 0; d < l.indices.size(); ++d) {
          if (!uses(l.indices[d], var_)) continue;
          const bool is_safe = !l.otherwise || inside.in_range(l.indices[d], l.buffer->shape[d]);
          if (!is_safe || stride_along(l.indices[d], var_) != 1) return {};
        }
      simple.push_back(e);
    }
    return simple;
  }

  const std::vector<Expr>& values_;
  const Var& var_;
  const Dim& extent_;
  std::vector<Load> loads_;            // that depend on the variable
  std::optional<IndexFacts> outside_;  // of the other loops
};

}  // namespace

std::optional<Interior> find_interior(const std::vector<Expr>& values, const StorageLoops& loops, size_t loop) {
  return InteriorFinder(values, loops, loop).run();
}

}  // namespace dlcc::tensor
