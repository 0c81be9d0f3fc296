// Reductions over marked axes: shapes, indices and the definition that sums, means and extrema share.
#pragma once

#include <optional>
#include <vector>

#include "relay/op_support/elements.h"

namespace dlcc::relay {

// A mask of the axes that the attributes name; all axes for None and for an empty list, as in TVM.
std::vector<bool> reduced_axes(const std::optional<std::vector<int64_t>>& axes, bool exclude, int rank);

Shape reduced_shape(const Shape&, const std::vector<bool>& reduced, bool keepdims);
Shape extents_of(const Shape&, const std::vector<bool>& marked);
// The index of an element from its index in the result and its index along the reduced axes.
std::vector<Expr> merge_index(const std::vector<bool>& reduced, bool keepdims, Index kept, Index reduced_index);

// The number of elements of a shape.
Expr size_as(DType, const Shape&);

// The type in which the sum of a mean is accumulated: wide enough that sums of integers rarely overflow.
DType mean_type(DType);

// Declares the reduction of marked axes as the next result. With `divide` the reduction is a sum, which is divided by
// the number of reduced elements.
void define_reduction(Definition&, const Tensor&, const std::vector<bool>& reduced, bool keepdims,
                      const tensor::Reducer&, bool divide);

}  // namespace dlcc::relay
