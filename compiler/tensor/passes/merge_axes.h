// Merges adjacent axes, so that a loop covers a whole feature map instead of one row.
#pragma once

#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Merges adjacent axes that occur in indices only as adjacent pairs: an elementwise function becomes one-dimensional, a
// 1x1 convolution gets one axis of pixels, a mean over an image reduces one axis, and each part of a concatenation is
// copied in whole rows. Shapes of parameters and results change, their memory does not. `layouts` are those of the
// parameters, then of the results. Dimensions that are not adjacent in a layout are not merged; the layouts are
// rewritten for the new shapes. No stage has a body of statements.
void merge_axes(TensorFunction&, std::vector<Layout>& layouts);

// Removes reduced axes that have only the index 0, such as the taps of a 1x1 convolution, if others are left: the axes
// to which they are added in indices can then be merged. Whether there were any.
bool drop_unit_reduced_axes(TensorFunction&);

}  // namespace dlcc::tensor
