// Broadcasting by numpy's rules: shapes are aligned at their last dimensions, and a size of 1 is repeated.
#pragma once

#include <vector>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

// The shape of the result. If it is not known which of two symbolic sizes is 1, the result has the size that follows
// when the operands can be broadcast: the size that is known to be above 1, else an expression that is the larger of
// the two, or 0 if one of them is 0. Definitions require that the operands can be broadcast (require_broadcast_next).
Checked<Shape> broadcast(const Shape& a, const Shape& b);
// The type relation of two broadcast operands of one element type.
TypeResult broadcast_result(const Operands& in, const TypeClass&, DType result);
// The index of the operand's element that the result has at `result_index`. If it is not known whether an axis has size
// 1, the index is clamped to its last element.
std::vector<Expr> broadcast_index(const Shape& operand, const Shape& result, Index result_index);

// Adds requirements to the next stage: each size of the operand is 1 or equals the result's size. Sizes for which this
// is known need none.
void require_broadcast_next(Definition&, const Shape& operand, const Shape& result);

}  // namespace dlcc::relay
