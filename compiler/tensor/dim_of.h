// Integer expressions as dims, whose canonical form decides equality of polynomials.
#pragma once

#include <functional>
#include <optional>

#include "tensor/ir.h"

namespace dlcc::tensor {

// The dim that an int64 expression is, given those of its variables. Empty if a variable has none, if the expression is
// not arithmetic, if it divides by what may be 0 or negative, or if coefficients overflow.
std::optional<Dim> dim_of(const Expr&, const std::function<std::optional<Dim>(const Var&)>& value);

}  // namespace dlcc::tensor
