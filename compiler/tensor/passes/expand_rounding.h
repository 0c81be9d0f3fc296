// Expands rounding functions into conversions, for CPUs that have no rounding instructions: LLVM would call libm there.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// floor, ceil, trunc and round_even of float32 and float64, with the same results.
Expr expand_rounding(const Expr&);

}  // namespace dlcc::tensor
