// Lists that determine the shape of a result: attributes if they are known at compile time, else operands. A definition
// whose lists are operands is for a result of given sizes, and requires that the operands specify these sizes.
#pragma once

#include <vector>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

// A rank-1 tensor of integers with a static length, of at most 1024 elements.
Failure check_list_operand(const TensorType&, const char* what);

// The elements of a list; empty where unknown.
using PartialList = std::vector<std::optional<Dim>>;

// The list that is operand `k` of the call, if it has that many, and else an attribute.
Checked<PartialList> list_value(const Operands& in, size_t k, const std::vector<Dim>& attribute, const char* what);

// The type of a tensor whose sizes are an attribute or operand `k`.
TypeResult filled_result(const Operands& in, size_t k, const std::vector<Dim>& attribute, DType);

// The elements of a list, as the sizes of a result.
std::vector<Expr> elements_of(const Tensor& list);
// An element of a list of sizes or of changes of sizes, clamped to [-2^41, 2^41], beyond any size: so the sum of a few
// elements does not wrap.
Expr bounded_element(const Tensor& list, int64_t k);

// Requires of the next stage that the operand `shape`, if the call has operand `k`, is the result's shape.
void require_shape_next(Definition&, const Operands& in, size_t k, const Shape& result);

// Requires of the next stage that the sizes are equal, unless that is known.
void require_equal_next(Definition&, const Dim&, const Dim&);

// Requires of the next stage that an axis of this size has an element to read, unless the result has no elements.
void require_element_next(Definition&, const Dim& size, const Shape& result,
                          tensor::Status = tensor::Status::shape_mismatch);

// For each of `rank` axes: whether an element of `axes` names it. Negative elements count from the end.
std::vector<Expr> marked_axes(const Tensor& axes, int rank);

// The condition that removing the marked axes of `data`, all of size 1, gives the shape `result`.
Expr drops_to(const std::vector<Expr>& marked, const Shape& data, const Shape& result);

// The condition that each element of `axes` is in range and none is named twice, given `marked_axes`.
Expr axes_valid(const Tensor& axes, const std::vector<Expr>& marked);

}  // namespace dlcc::relay
