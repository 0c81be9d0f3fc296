// The work of a tensor function, by its definition.
#pragma once

#include <optional>

#include "tensor/ir.h"

namespace dlcc::tensor {

// An upper bound of the operations that a run of the function executes, those of indices included: each node of an
// expression is one, a function such as exp as many as its expansion has. Empty if symbols, scalars or data decide the
// number.
std::optional<double> count_operations(const TensorFunction&);

}  // namespace dlcc::tensor
