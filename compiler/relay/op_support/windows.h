// The sliding windows of convolutions and poolings over spatial axes: their number, the positions that their taps read,
// and the reads that need a predicate.
#pragma once

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

// One spatial axis of a convolution or pooling: tap r of window i reads position i * stride + r * dilation - before.
struct Window {
  int64_t size, stride, dilation, before, after;

  int64_t dilated_size() const { return (size - 1) * dilation + 1; }
  Expr position(Expr window, Expr tap) const;
};

// Windows of `size.size()` spatial axes. Padding has one number for all sides, one per axis, or one per axis before and
// then one per axis after.
Checked<std::vector<Window>> make_windows(const std::vector<int64_t>& size, const std::vector<int64_t>& strides,
                                          const std::vector<int64_t>& dilation, const std::vector<int64_t>& padding);

// The number of windows along an axis of `extent` elements. With `ceil`, also windows that end beyond the padding but
// begin within it. An error if no size of the axis has a window, unless the size is data-dependent; the operator
// must list the result in its positive_sizes.
Checked<Dim> window_count(const Dim& extent, const Window&, bool ceil, int axis);

// Whether all taps of all windows read inside the data.
bool always_inside(const Dim& extent, const Dim& count, const Window&, bool ceil);

// The taps [first, last] of a window whose positions are in [low, high); empty when first > last.
struct TapRange {
  Expr first, last;
};
TapRange taps_between(const Window&, Expr window, Expr low, Expr high);

// The number of taps, at least 1, by which an average divides: those of the window at `index` ([batch, channel, spatial
// axes ...]) that are in the data, or also those in its padding.
Expr counted_taps(const std::vector<Window>&, const Shape& data, bool count_padding, const std::vector<Expr>& index);

}  // namespace dlcc::relay
