#include "relay/op_support/sorting.h"

namespace dlcc::relay {

namespace {

using Before = std::function<Expr(Expr a, Expr b)>;

Expr is_nan(const Expr& e) { return tensor::unary(tensor::UnaryOp::is_nan, e); }

std::vector<Expr> appended(std::vector<Expr> row, Expr last) {
  row.push_back(std::move(last));
  return row;
}

// Merges each pair of neighbouring sorted runs of `width` positions in `from` to one run in `to`.
void merge_runs(Statements& s, const Tensor& from, const Tensor& to, const std::vector<Expr>& row, const Expr& n,
                const Expr& width, const Before& before) {
  const Expr both = width * Expr(2), last = n - Expr(1);
  s.loop("run", floor_div(n + both - Expr(1), both), [&](const Expr& run) {
    const Expr begin = s.let("begin", run * both), middle = s.let("middle", min(begin + width, n)),
               end = s.let("end", min(begin + both, n));
    const Tensor left = s.local("left", dtype::i64), right = s.local("right", dtype::i64);
    s.store(left, {}, begin);
    s.store(right, {}, middle);
    s.loop("k", end - begin, [&](const Expr& k) {
      const Expr i = s.let("i", scalar(left)), j = s.let("j", scalar(right));
      const Expr a = s.let("a", from(appended(row, min(i, last)))), b = s.let("b", from(appended(row, min(j, last))));
      const Expr takes_a = logical_and(i < middle, logical_or(j >= end, logical_not(before(b, a))));
      const Expr from_left = s.let("from_left", takes_a);
      s.store(to, appended(row, begin + k), select(from_left, a, b));
      s.store(left, {}, select(from_left, i + Expr(1), i));
      s.store(right, {}, select(from_left, j, j + Expr(1)));
    });
  });
}

// The number of passes that each make runs four times as long, from length 1 to at least `n` elements.
int64_t levels(const Dim& n) {
  int64_t count = 0;
  for (int64_t width = 1; width < n.constant().value_or(tensor::max_elements); width *= 4) ++count;
  return count;
}

}  // namespace

Expr is_before(Expr a, Expr b, bool ascending) {
  const bool has_nan = is_float(a.type());
  const Expr ordered = ascending ? a < b : a > b;
  if (!has_nan) return ordered;
  const Expr nan_decides =
      ascending ? logical_and(is_nan(b), logical_not(is_nan(a))) : logical_and(is_nan(a), logical_not(is_nan(b)));
  return logical_or(ordered, nan_decides);
}

void store_positions(Statements& s, const Tensor& order, const std::vector<Expr>& row, const Dim& n) {
  s.loop("k", Expr(n), [&](const Expr& k) { s.store(order, appended(row, k), k); });
}

void merge_sort(Statements& s, const Tensor& order, const Tensor& scratch, const std::vector<Expr>& row,
                const Expr& count, const Dim& n, const Before& before) {
  const Tensor width = s.local("width", dtype::i64);
  s.store(width, {}, Expr(1));
  s.loop("level", Expr(levels(n)), [&](const Expr&) {
    s.if_then(scalar(width) < count, [&] {
      const Expr once = s.let("once", scalar(width));
      merge_runs(s, order, scratch, row, count, once, before);
      const Expr twice = s.let("twice", once * Expr(2));
      merge_runs(s, scratch, order, row, count, twice, before);
      s.store(width, {}, twice * Expr(2));
    });
  });
}

}  // namespace dlcc::relay
