// Fewer, longer axes: loops over a whole feature map instead of its rows.
#pragma once

#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Joins neighbouring axes that every stage runs through together: an elementwise function becomes one-dimensional, a
// 1x1 convolution has one axis of pixels. Shapes of parameters and results change; the memory they describe does not.
// `layouts` says how parameters, then results, are stored; dimensions that a layout separates stay apart, and the
// layouts are rewritten for the new shapes.
void merge_axes(TensorFunction&, std::vector<Layout>& layouts);

}  // namespace dlcc::tensor
