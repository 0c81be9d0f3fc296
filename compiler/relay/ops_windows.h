// Sliding windows over spatial axes, which convolutions and poolings share: how many there are, what their taps read,
// and where that needs a predicate.
#pragma once

#include "relay/ops_common.h"

namespace dlcc::relay {

// One spatial axis of a convolution or pooling: tap r of window i reads position i * stride + r * dilation - before.
struct Window {
  int64_t size, stride, dilation, before, after;

  int64_t reach() const { return (size - 1) * dilation + 1; }
  Expr position(Expr window, Expr tap) const;
};

// Windows of `size.size()` spatial axes. Padding has one number for all sides, one per axis, or one per axis before and
// then one per axis after.
Checked<std::vector<Window>> make_windows(const std::vector<int64_t>& size, const std::vector<int64_t>& strides,
                                          const std::vector<int64_t>& dilation, const std::vector<int64_t>& padding);

// How many windows an axis of this extent has. With `ceil`, also those that reach beyond the padding, but none that
// begins there.
Checked<Dim> window_count(const Dim& extent, const Window&, bool ceil, int axis);

// Whether all taps of all windows lie inside the data.
bool always_inside(const Dim& extent, const Dim& count, const Window&, bool ceil);

// The range [first, last] of taps of a window whose position lies in [low, high); empty when first > last.
struct TapRange {
  Expr first, last;
};
TapRange taps_between(const Window&, Expr window, Expr low, Expr high);

}  // namespace dlcc::relay
