// trilu, matrix_set_diag: the elements of matrices on one side of a diagonal, and on a band of diagonals.
#include "relay/op_support/composition.h"
#include "relay/op_support/gradients.h"

namespace dlcc::relay::ops {

namespace {

struct TriluAttrs {
  bool upper = true;
};
struct SetDiagonalAttrs {
  int64_t k1 = 0, k2 = 0;
  bool super_diag_right_align = true, sub_diag_right_align = false;
};

Value triangle(const TriluAttrs& a, Composition& c) {
  return c.call("matrix_band", {c.operand(0), c.operand(1)}, {{a.upper ? "lower" : "upper", 0}});
}

// The size of the diagonals along which `diagonal` counts: the longest one of the band.
Dim longest_diagonal(const SetDiagonalAttrs& a, const Dim& rows, const Dim& columns) {
  return min(rows + Dim(std::min<int64_t>(a.k2, 0)), columns + Dim(std::min<int64_t>(-a.k1, 0)));
}

void check_diagonals(const SetDiagonalAttrs& a, const Composition& c, const Value& x, const Value& diagonal) {
  c.require(first_of(
      {check_type(x.type, "input", types::movable), check_same_type(x.type, "input", diagonal.type, "diagonal")}));
  if (x.rank() < 2) c.fail(shape_error("input must have the two axes of a matrix"));
  if (a.k1 > a.k2) c.fail(attribute_error(fmt::format("k1 must be at most k2, found {} and {}", a.k1, a.k2)));
  const Dim rows = x.shape()[x.rank() - 2], columns = x.shape().back();
  if (provably_le(columns, Dim(a.k2)) || provably_le(rows, Dim(-a.k1)))
    c.fail(attribute_error(fmt::format("diagonals {} to {} are outside of a matrix of shape ({}, {})", a.k1, a.k2,
                                       rows.str(), columns.str())));
  Shape expected(x.shape().begin(), x.shape().end() - 2);
  if (a.k1 != a.k2) expected.emplace_back(a.k2 - a.k1 + 1);
  expected.push_back(longest_diagonal(a, rows, columns));
  c.require(check_rank(diagonal.type, "diagonal", static_cast<int>(expected.size())));
  for (size_t k = 0; k < expected.size(); ++k)
    c.require(check_equal(diagonal.shape()[k], fmt::format("axis {} of the diagonal", k), expected[k],
                          "that of the input's diagonals"));
}

// The index into `diagonal` of the element at (row, column): the diagonal, counted from the uppermost one, and the
// position along it. Shorter diagonals are aligned at the left or at the right.
std::vector<Expr> diagonal_index(const SetDiagonalAttrs& a, const Tensor& x, const Tensor& diagonal, Index i) {
  const size_t row = i.size() - 2;
  const Expr k = a.k1 == a.k2 ? Expr(a.k1) : i[row + 1] - i[row];
  const Expr rows(x.extent(static_cast<int>(row))), columns(x.extent(static_cast<int>(row) + 1));
  std::vector<Expr> at(i.begin(), i.end() - 2);
  Expr offset(0);
  if (a.k1 != a.k2) {
    at.push_back(Expr(a.k2) - k);
    const Expr longest(diagonal.shape().back());
    const Expr above = a.super_diag_right_align ? longest - min(columns - k, rows) : Expr(0);
    const Expr below = a.sub_diag_right_align ? longest - min(columns, rows + k) : Expr(0);
    offset = select(k >= Expr(0), above, below);
  }
  at.push_back(select(k >= Expr(0), i[row], i[row + 1]) + offset);
  return at;
}

Value with_diagonals(const SetDiagonalAttrs& a, Composition& c) {
  const Value x = c.operand(0), diagonal = c.operand(1);
  check_diagonals(a, c, x, diagonal);
  return c.compute(x.dtype(), x.shape(), {x, diagonal}, [a](const std::vector<Tensor>& args, Index i) {
    const size_t row = i.size() - 2;
    const Expr k = i[row + 1] - i[row];
    const Expr is_on = logical_and(k >= Expr(a.k1), k <= Expr(a.k2));
    std::vector<Expr> at = diagonal_index(a, args[0], args[1], i);
    for (size_t axis = row; axis < at.size(); ++axis)  // elements beside the diagonals do not read it
      at[axis] = max(min(at[axis], Expr(args[1].shape()[axis]) - Expr(1)), Expr(0));
    return select(is_on, stored(args[1], at), stored(args[0], i));
  });
}

}  // namespace

void diagonals(OperatorTable& table) {
  table.add(composed<TriluAttrs>(
      {.name = "trilu",
       .summary = "matrices with zeros on one side of diagonal k",
       .attributes = {{"upper", &TriluAttrs::upper, "the upper triangle stays, else the lower one"}},
       .arguments = {"data", "k"},
       .sample_shapes = {{2, 2}, {}}},
      triangle));
  using D = SetDiagonalAttrs;
  table.add(composed<D>(
      {.name = "matrix_set_diag",
       .summary = "matrices with diagonals k1 to k2 replaced; diagonal 0 is the main one, positive ones are above it",
       .attributes = {{"k1", &D::k1, "the lowest diagonal"},
                      {"k2", &D::k2, "the highest diagonal"},
                      {"super_diag_right_align", &D::super_diag_right_align,
                       "shorter diagonals above the main one are stored at the end of their row"},
                      {"sub_diag_right_align", &D::sub_diag_right_align,
                       "shorter diagonals below the main one are stored at the end of their row"}},
       .arguments = {"input", "diagonal"},
       .gradient =
           [](const D&, CallGradient& g) {
             gradient_by_positions(g, {0, 1});
           },
       .sample_shapes = {{2, 2}, {2}}},
      with_diagonals));
}

}  // namespace dlcc::relay::ops
