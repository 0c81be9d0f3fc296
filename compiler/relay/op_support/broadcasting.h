// Broadcasting by numpy's rules: shapes are aligned at their last dimensions, and a size of 1 is repeated.
#pragma once

#include <vector>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

// The shape of the result. Where symbolic sizes leave open which of two is 1, it is the size that the result has if the
// operands fit: a number above 1, or the larger of two sizes that are at least 1; else unknown. Definitions require
// that the operands fit (require_broadcast_next).
Checked<Shape> broadcast(const Shape& a, const Shape& b);
// The type relation of two broadcast operands of one element type.
TypeResult broadcast_result(const Operands& in, const TypeClass&, DType result);
// The index in the operand of the element that the result has at `result_index`.
// An axis of which it is not known whether it has size 1 is read at most at its last element.
std::vector<Expr> broadcast_index(const Shape& operand, const Shape& result, Index result_index);

// Requires of the next stage that each size of the operand is 1 or that of the result, unless that is known.
void require_broadcast_next(Definition&, const Shape& operand, const Shape& result);

}  // namespace dlcc::relay
