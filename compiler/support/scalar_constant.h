#pragma once

#include "support/constant.h"

namespace dlcc {

// The value as a constant of rank 0. For integer types it is truncated, and NaN becomes 0; of the types of at most one
// byte, floats only have the value 0.
Constant scalar_constant(DType, double value);

}  // namespace dlcc
