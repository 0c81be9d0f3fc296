// Positions in the data that the elements of a resized axis correspond to.
#pragma once

#include <string>

#include "relay/op_support/resampling.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

// One axis that is resized. A position is a fraction of two expressions. Where the ratio of the sizes is known, they
// are integers and positions are exact.
struct ResizedAxis {
  Dim in, out;
  // The result's size by the data's: `size_ratio` or given numbers. Size and ratio may differ, as the size is rounded.
  Dim numerator, denominator;
  Expr scale = {};                    // instead, a float32 that is known at run time only
  Expr roi_start = {}, roi_end = {};  // for mode tf_crop_and_resize: the box, in units of the data's last index
};

// "half_pixel", "asymmetric", ...; see position_modes in resize_positions.cpp.
Failure check_position_mode(const std::string& mode);
Failure check_rounding(const std::string& rounding);

// The position that corresponds to element `at`, as a float.
Expr resized_position(const std::string& mode, const ResizedAxis&, Expr at, DType);
// The index of the element that is nearest to that position.
Expr resized_index(const std::string& mode, const std::string& rounding, const ResizedAxis&, Expr at);

}  // namespace dlcc::relay
