// Integer expressions as dims, whose canonical form decides equality of polynomials.
#pragma once

#include <functional>
#include <optional>

#include "tensor/ir.h"

namespace dlcc::tensor {

// The dim that an int64 expression is, given those of its variables; empty if a variable has none or if the expression
// is not arithmetic. a mod b is written as a - b * (a div b), so that b * (a div b) + a mod b is a.
std::optional<Dim> dim_of(const Expr&, const std::function<std::optional<Dim>(const Var&)>& value);

}  // namespace dlcc::tensor
