// The axes along which the taps of a convolution lie in its image, and the taps that read nothing but padding. Of the
// seven rows of a 7x7 kernel with dilation 2 over an image of 7x7 pixels, each row of results needs three or four.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// A dimension of the data whose index is step * pixel + dilation * tap + origin.
struct TapAxis {
  int pixel = -1;  // position in the stage's axes
  size_t tap = 0;  // position in the reduced axes
  int64_t step = 1, dilation = 1, origin = 0;
  int64_t extent = 0;  // of the data
};

// The tap axes of a load whose reads outside of the data add zero to the stage's sum; empty for any other load.
std::vector<TapAxis> tap_axes(const Load& data, const Stage&);

// Whether the tap, the variable of its axis, reads an element of the data for some of the pixels [first, first +
// count). It may be true for no such pixel, too, if the step is larger than the data.
Expr reads_data(const TapAxis&, const Stage&, const Expr& first, int64_t count);

// The share of the taps of all ranges of `count` neighbouring pixels, a number in [0, 1], for which reads_data is
// false.
double share_of_padding(const TapAxis&, const Stage&, int64_t count);

}  // namespace dlcc::tensor
