// The trivial schedule: one loop nest per stage, reductions inside. It is how the evaluator runs definitions, and what
// every definition can fall back to.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// Parameters of the function are read, results written, intermediates scratch. Loops over axes are parallel but for
// the last axis with more than one point, which is innermost and a vector loop. Reductions accumulate in a register;
// sums and products place the axes that a predicated read depends on outside of the others.
Kernel naive_schedule(const TensorFunction&);

}  // namespace dlcc::tensor
