// The positions in the data to which the elements of a resized axis correspond.
#pragma once

#include <string>

#include "relay/op_support/resampling.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

// One axis that is resized. A position is a fraction of two expressions. If the ratio of the sizes is known, both are
// integers and positions are exact.
struct ResizedAxis {
  Dim in, out;
  // The scale numerator / denominator, by which the data's size was multiplied. It may differ from out / in, because
  // the size of the result is rounded.
  Dim numerator, denominator;
  Expr scale = {};                    // in place of the fraction: a float32, known at run time only
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
