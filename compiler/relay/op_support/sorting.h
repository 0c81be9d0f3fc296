// Statements that sort, shared by operators (Knuth, "The Art of Computer Programming", volume 3, section 5.2.4).
#pragma once

#include <functional>
#include <vector>

#include "relay/op_support/elements.h"
#include "tensor/statements.h"

namespace dlcc::relay {

using tensor::Statements;

// Whether an element with the first value is sorted before one with the second; NaN counts as the largest value, as in
// numpy.
Expr is_before(Expr a, Expr b, bool ascending);

// Stores the positions 0 .. n - 1 in order[row, 0 .. n - 1].
void store_positions(Statements&, const Tensor& order, const std::vector<Expr>& row, const Dim& n);

// A stable merge sort of the positions order[row, 0 .. count - 1], where `count` is at most `n`. `scratch` is a tensor
// like `order`; both are int64. `before` compares the elements at two positions.
void merge_sort(Statements&, const Tensor& order, const Tensor& scratch, const std::vector<Expr>& row,
                const Expr& count, const Dim& n, const std::function<Expr(Expr a, Expr b)>& before);

}  // namespace dlcc::relay
