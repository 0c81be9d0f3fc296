// Conversion of integer expressions to dims, whose canonical form decides equality of polynomials.
#pragma once

#include <functional>
#include <optional>

#include "tensor/ir.h"

namespace dlcc::tensor {

// The int64 expression as a dim, where value(v) is the dim of a variable. Empty if a variable has no dim, if the
// expression is not integer arithmetic, if a divisor is not proved to be positive, or if a coefficient overflows.
std::optional<Dim> dim_of(const Expr&, const std::function<std::optional<Dim>(const Var&)>& value);

}  // namespace dlcc::tensor
