// Fewer, longer axes: loops over a whole feature map instead of its rows.
#pragma once

#include <functional>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Joins neighbouring axes that every stage runs through together: an elementwise function becomes one-dimensional, a
// 1x1 convolution has one axis of pixels. Shapes of parameters and results change (row-major order does not), so the
// caller passes operands under the new shapes. `may_join(buffer, d)` says whether dimensions d and d + 1 of a parameter
// or result may become one.
void merge_axes(TensorFunction&, const std::function<bool(const Buffer&, int)>& may_join);

}  // namespace dlcc::tensor
