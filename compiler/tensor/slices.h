// Functions that compute independent slices along leading axes, such as a batch. The function of one slice is static.
#pragma once

#include <optional>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// A function whose stages all have the same leading axes. An operand either has them as its leading dimensions and is
// read there at the axes' variables, or does not have them.
struct Slices {
  TensorFunction slice;      // the function of one slice
  std::vector<bool> sliced;  // of each parameter, then of each result: whether it has the axes
  int axes = 0;              // the number of leading axes
  Dim count;                 // of slices: the product of the extents
};

// Divides a function into slices along its leading axes of symbolic extent: each has `extent` indices of the last of
// them and one index of the others. Empty if there is no such axis, or if a slice is not static.
std::optional<Slices> find_slices(const TensorFunction&, int64_t extent = 1);

// The function of a block of `rows` indices of the first axis, whose extent may be constant or symbolic. Empty if rows
// depend on each other.
std::optional<Slices> find_row_blocks(const TensorFunction&, const Dim& rows);

// The layout of one slice of a buffer that has the axes; empty if they are not the outermost dimensions of the storage,
// so that slices are not contiguous.
std::optional<Layout> layout_of_slice(const Layout&, int axes);

}  // namespace dlcc::tensor
