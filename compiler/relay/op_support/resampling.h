// Interpolation between the elements of an axis, which resizing and grid sampling share.
#pragma once

#include "relay/op_support/elements.h"

namespace dlcc::relay {

// The weight of an element at a distance from the sampled position: for the linear kernel, which is 0 beyond distance
// 1, and for Keys' cubic kernel, which is 0 beyond distance 2 (R. Keys, "Cubic convolution interpolation for digital
// image processing", 1981).
Expr linear_weight(Expr distance);
Expr cubic_weight(Expr distance, double alpha);

// The type in which positions and weights are computed: float64 for float64 data, else float32.
DType sampling_type(DType data);

// An integral float as an index, clamped to [0, extent).
Expr nearest_index(Expr position, Expr extent);

}  // namespace dlcc::relay
