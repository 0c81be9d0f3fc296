// Searches in rows: a reduction of pairs (value, position) to the largest or smallest value and its position, as in
// argmax, over contiguous elements. It is divided in two reductions, both of which have neighbouring elements of the
// row as lanes, and which row fusion (passes/fuse_rows.h) puts into one loop over the rows:
//
//   (value, position)[i] = reduce r: the larger of the pairs (x[i, r], r)
// =>
//   value[i] = max r: x[i, r]
//   position[i] = min r: x[i, r] == value[i] ? r : largest integer          # max for the last position
#pragma once

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// Divides each stage that searches in rows, if the machine has vectors of its values, and if the value is cheap enough
// to be computed twice.
void divide_row_searches(TensorFunction&, const Machine&);

}  // namespace dlcc::tensor
