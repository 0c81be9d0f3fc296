// Operands that decide a result's shape at run time, which a declared shape must match.
#pragma once

#include <vector>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

// A rank-1 tensor of integers with a static length.
Failure check_list_operand(const TensorType&, const char* what);

// For each of `rank` axes: whether some element of `axes` names it. Negative elements count from the end.
std::vector<Expr> marked_axes(const Tensor& axes, int rank);

// The condition that removing the marked axes of `data`, all of size 1, gives the shape `result`.
Expr drops_to(const std::vector<Expr>& marked, const Shape& data, const Shape& result);

// The condition that each element of `axes` is in range and none is named twice, given `marked_axes`.
Expr axes_valid(const Tensor& axes, const std::vector<Expr>& marked);

}  // namespace dlcc::relay
