#include "tensor/schedules/epilogue.h"

#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/schedules/loops.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

std::optional<Stage> find_epilogue(const TensorFunction& f, size_t k) {
  const Stage& reduced = f.stages[k];
  const Buffer& total = reduced.results[0];
  if (k + 1 == f.stages.size() || std::ranges::count(f.results, total)) return std::nullopt;
  const Stage& next = f.stages[k + 1];
  bool fits = is_plain(next) && !next.reduction && next.axes.size() == reduced.axes.size() && reads(next, total) &&
              reads_at_own_index(next, total.get());
  for (size_t later = k + 2; later < f.stages.size(); ++later) fits = fits && !reads(f.stages[later], total);
  return fits ? std::optional(next) : std::nullopt;
}

Epilogue::Epilogue(const Stage& reduced, const Stage* elementwise)
    : last_(elementwise ? *elementwise : reduced),
      result_(last_.results[0]),
      total_(make_var("total", reduced.results[0]->type)),
      stored_(make_var("stored", result_->type)),
      first_(total_) {
  if (!elementwise) return;
  first_ = rewrite(elementwise->values[0], [&](const Expr& e) {
    const Load* l = as<Load>(e);
    return l && l->buffer == reduced.results[0] ? Expr(total_) : e;
  });
  if (has_long_code(first_)) split();
}

// Splits the value at the largest cheap expression that contains every use of the total. For a sigmoid or another
// smooth activation, this is the sum with the bias.
void Epilogue::split() {
  std::vector<Expr> cheap;
  for_each_expr(first_, [&](const Expr& e) {
    if (e.type() == result_->type && uses(e, total_) && !has_long_code(e)) cheap.push_back(e);
  });
  for (; !cheap.empty(); cheap.pop_back()) {
    Expr rest = rewrite(first_, [&](const Expr& e) { return structurally_equal(e, cheap.back()) ? Expr(stored_) : e; });
    if (uses(rest, total_) || !result_may_hold(rest)) continue;
    first_ = cheap.back();
    rest_ = rest;
    return;
  }
}

// Whether the result can hold first(total) until rest(..) is computed: not if `rest` reads an operand that may share
// the result's memory, which is one of equal type and size.
bool Epilogue::result_may_hold(const Expr& rest) const {
  auto loads = loads_of(rest);
  return std::ranges::none_of(loads, [&](const Load& l) {
    return l.buffer->type == result_->type && product(l.buffer->shape) == product(result_->shape);
  });
}

Stmt Epilogue::store_total(const Expr& total, const std::vector<Expr>& index) const {
  return store(result_, index, substitute(at_index(first_, last_, index), {{total_, total}}));
}

Stmt Epilogue::finish(const std::vector<Expr>& index) const {
  return store(result_, index, substitute(at_index(rest_, last_, index), {{stored_, load(result_, index)}}));
}

}  // namespace dlcc::tensor
