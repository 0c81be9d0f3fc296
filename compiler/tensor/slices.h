// Functions that compute independent slices along leading axes of symbolic extent, such as a batch: what is static
// about them is the function of one slice.
#pragma once

#include <optional>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// The leading axes of all stages have symbolic extents. Each operand either has them as its leading dimensions, and is
// read at the axes' variables there, or has nothing to do with them.
struct Slices {
  TensorFunction slice;      // the function with other extents of these axes; static
  std::vector<bool> sliced;  // of each parameter, then of each result: whether it has the axes
  int axes = 0;              // the number of leading axes
  Dim count;                 // of slices: the product of the extents
};

// Slices of `extent` indices of the last of these axes, and of one index of the others. Empty if there is no such axis,
// or if a slice is not static.
std::optional<Slices> find_slices(const TensorFunction&, int64_t extent = 1);

// The layout of one slice of a buffer that has the axes; empty if they are not the outermost dimensions of the storage,
// so that slices are not contiguous.
std::optional<Layout> layout_of_slice(const Layout&, int axes);

}  // namespace dlcc::tensor
