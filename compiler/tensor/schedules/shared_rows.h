// Rows of an image that several results of a register tile read, each at another tap. Three rows of results of a 5x5
// depthwise convolution read seven rows of the image, 15 times in all. If the loops follow the rows of the image
// instead of the taps, each row is loaded once for all of its results.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

struct SharedRows {
  size_t tap = 0;  // position of the axis of taps in the reduced axes
  // The row that index u of the unrolled axis reads at a tap is step * u + dilation * tap + a number that depends on
  // neither.
  int64_t step = 1, dilation = 1;
};

// The rows that a load of the stage reads, whose innermost index depends on the axis of a row of results. Empty unless
// the row depends on the unrolled axis and on an axis of a constant number of taps.
std::optional<SharedRows> shared_rows(const Stage&, int row_axis, int unrolled_axis);

// For each row that `count` indices of the unrolled axis read, in ascending order, the pairs of an index and a tap that
// read it. Each index has its taps in ascending order, so that its sum is the one of a loop over taps.
std::vector<std::vector<std::pair<int64_t, int64_t>>> readers_of_rows(const SharedRows&, int64_t count, int64_t taps);

}  // namespace dlcc::tensor
