// Requantizes int32 sums in integers on CPUs without floating-point instructions, where each float operation is a call
// of a function of 30 to 70 instructions.
#pragma once

#include <optional>
#include <vector>

#include "support/constant.h"
#include "tensor/fixed_point.h"
#include "tensor/ir.h"

namespace dlcc::tensor {

// A function, the contents of its further parameters, after those that it had, and the format of its numbers.
struct IntegerRequantization {
  TensorFunction function;
  std::vector<Constant> constants;
  FixedPointFormat format = {};
};

// Rewrites a function that has a sum of integers and reads it at its own index in a stage without reduction, for
// instance u8(round(f32(sum[i, c]) * scale[c] + bias[c])). Within that stage, an expression of integer type that
//
//   * depends on the sum, on constants and on at most one axis, such as the channels,
//   * does not decrease with the sum: it consists of conversions, additions, products with factors that are not
//     negative, roundings, minima and maxima of floats and integers,
//   * and has at most 256 values
//
// becomes in_doubt(number) ? expression : clamp(number >> fraction), where number is a multiplication and an addition
// of integers (tensor/fixed_point.h). The results are equal for all sums that can occur: this is checked here, with the
// function's own values. The multiplier and the offset of each channel are further parameters.
//
// known[k]: the value of parameter k, or null. Empty if there is no such expression, or if no factors are found for
// some channel.
std::optional<IntegerRequantization> requantize_in_integers(const TensorFunction&,
                                                            const std::vector<const Constant*>& known,
                                                            const FixedPointLimits&);

}  // namespace dlcc::tensor
