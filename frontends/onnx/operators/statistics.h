// Means, variances and norms of values as calls of Relay operators.
#pragma once

#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

struct Moments {
  Value mean;      // reduced axes have size 1
  Value centered;  // the data minus the mean
  Value variance;  // the mean of the squares of `centered`
};
Moments moments_over(Node&, const Value& x, const std::vector<int64_t>& axes);
Value mean_over(Node&, const Value& x, const std::vector<int64_t>& axes);

// nn.standardize over some axes: mean 0 (unless not `center`) and variance 1, then scaled and shifted. Parameters have
// any float type; without a shift it is 0.
Value standardize(Node&, const Value& x, const std::vector<int64_t>& axes, const Value& scale,
                  const std::optional<Value>& shift, double epsilon, bool center = true);

// A list with one element for each channel, in a shape that is broadcast to data [N, C, ...] of this rank.
Value along_channels(Node&, const Value& list, int rank);

// The attribute p of LpPool and GlobalLpPool, a float in operator set 1.
double order_of_norm(Node&);
Value power_of_magnitude(Node&, const Value& x, double p);  // |x|^p
Value root_of_order(Node&, const Value& x, double p);       // x^(1/p) for x >= 0

}  // namespace dlcc::frontends::onnx
