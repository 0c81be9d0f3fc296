// Index maps of operators that change the shape, and of padding.
#pragma once

#include <string>
#include <vector>

#include "relay/op_support/elements.h"

namespace dlcc::relay {

Expr flatten_index(const Shape&, Index);  // row-major position
std::vector<Expr> unflatten_index(const Shape&, Expr position);

// The index in `from` of the element that has `to_index` in `to`, for shapes of equal element count and order. Groups
// of dimensions with equal products are mapped one by one, so that splitting or merging some leaves the others
// untouched.
std::vector<Expr> reshape_index(const Shape& from, const Shape& to, Index to_index);

// The definition of an operator that changes only the shape.
TensorFunction define_view(const char* name, const TensorType& data, const Shape& result);

// The index from the start of an axis for one in [-extent, extent), where negative ones count from the end.
Expr from_start(Expr index, Expr extent);

// The position in [0, extent) whose element padding repeats at position `at`, which may be outside of the axis, in mode
// "edge", "reflect", "symmetric" or "wrap". With `once`, `at` is at most one reflection away from the axis.
Expr padded_position(const std::string& mode, Expr at, const Expr& extent, bool once);

}  // namespace dlcc::relay
