// Broadcasting by numpy's rules: shapes are aligned at their last dimensions, and a size of 1 is repeated.
#pragma once

#include <vector>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

Checked<Shape> broadcast(const Shape& a, const Shape& b);
Failure check_broadcasts_to(const Shape& from, const Shape& to);
// The type relation of two broadcast operands of one element type.
TypeResult broadcast_result(const Operands& in, const TypeClass&, DType result);
// The index in the operand of the element that the result has at `result_index`.
std::vector<Expr> broadcast_index(const Shape& operand, const Shape& result, Index result_index);

}  // namespace dlcc::relay
