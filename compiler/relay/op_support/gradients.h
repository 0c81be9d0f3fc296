// Rules of gradients that several operators share.
#pragma once

#include <initializer_list>
#include <vector>

#include "relay/call_gradient.h"
#include "relay/op_support/axis_order.h"
#include "relay/op_support/windows.h"

namespace dlcc::relay {

// For an operator whose derivative is 0 wherever it exists.
inline constexpr auto gradient_of_constant = [](const auto&, CallGradient&) {};

// For an operator that is the identity on its first operand.
inline constexpr auto gradient_of_identity = [](const auto&, CallGradient& g) { g.add(0, g.gradient()); };

// For an operator that keeps the order of all elements of its first operand.
inline constexpr auto gradient_of_reshape = [](const auto&, CallGradient& g) {
  g.add(0, g.gradient().reshaped(g.operand(0).shape()));
};

// For an operator that moves the elements of its first operand, and moves them back when it is applied again.
inline constexpr auto gradient_of_involution = [](const auto&, CallGradient& g) {
  std::vector<Term> args = g.all_operands();
  args[0] = g.gradient();
  g.add(0, g.code().call_all(g.op(), args, g.attrs())[0]);
};

// Zeros of the type, to which the values are added at their positions along the axis.
Term sum_at_positions(const TensorType&, const Term& positions, const Term& values, int64_t axis);

// For an operator that moves elements: each one of its only result is one of the operands `data`, or a number of its
// own. It is applied to the numbers of the operands' elements instead, and each of them gets the gradients of the
// elements of the result that have its number. `changed`: attributes to change for that, which must give -1 for other
// elements.
void gradient_by_positions(CallGradient&, std::initializer_list<size_t> data, const Attrs& changed = {});
inline constexpr auto gradient_of_movement = [](const auto&, CallGradient& g) { gradient_by_positions(g, {0}); };

// A term whose axes are in a layout's order, in the operator's own order; and the other way round.
Term to_own(const AxisOrder&, const Term&);
Term from_own(const AxisOrder&, const Term&);

// ---- windows of spatial axes, of tensors (batch, channels, spatial axes)

// The sum, for each element of an image of shape `data`, over the windows and taps that read it, of the window's value
// times the tap's weight: weights (channels of the windows, channels of the image in a group, taps).
Term spread_windows(const Term& values, const Term& weight, const std::vector<Window>&, int64_t groups,
                    const Shape& data);

// The gradient of the weight of a convolution, (channels of `values`, channels of `data` in a group, taps): the sum
// over batch and windows of the window's value times the element that the tap reads.
Term gradient_of_taps(const Term& values, const Term& data, const std::vector<Window>&, int64_t groups);

}  // namespace dlcc::relay
