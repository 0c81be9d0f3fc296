// Expands rounding into conversions, for code that must run on CPUs without instructions for it and without a library.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// floor, ceil, trunc and round_even of float32 and float64, with the same results.
Expr expand_rounding(const Expr&);

}  // namespace dlcc::tensor
