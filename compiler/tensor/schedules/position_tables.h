// Tables of positions: an expensive sub-expression of a stage that depends on few of its axes is computed once for each
// point of these axes, and not for each element of the result:
//
//   result[c, y, x] = image[c, floordiv(2 * y + 1, 3), floordiv(2 * x + 1, 3)]
// =>
//   position_of_y[y] = floordiv(2 * y + 1, 3), and the same for x
//   result[c, y, x] = image[c, position_of_y[y], position_of_x[x]]
//
// Resampling an image, for one, computes the neighbours of a pixel and their weights from the pixel's column in float
// arithmetic with a division; the columns of all rows and channels are the same. Average pooling divides by the number
// of elements of a window that are inside the image, the same for all channels.
#pragma once

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// Adds a stage for each table before the function's stages. Stages with a body stay as they are. The machine is the
// storage machine.
void tabulate_positions(TensorFunction&, const Machine&);

}  // namespace dlcc::tensor
