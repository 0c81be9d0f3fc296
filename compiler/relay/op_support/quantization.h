// Scales and zero points of quantized tensors: real = (stored - zero point) * scale. A scale or a zero point has one
// element for the whole tensor, one for each index of an axis, or one for each block along an axis.
#pragma once

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

// Whether there is one element for the whole tensor.
bool is_single(const Shape& scale);

// The shape of a scale or zero point fits the data. `block_size`: elements along the axis that share one; 0: one for
// each index.
Failure check_granularity(const Shape& data, const TensorType& scale, const char* what, int64_t axis,
                          int64_t block_size);

// The element of a scale or zero point for the data's element at `i`.
Expr parameter_at(const Tensor& p, Index i, int64_t axis, int64_t block_size);

// A float limited to the range of an integer type of at most 32 bits.
Expr clipped_to(DType type, Expr value);

}  // namespace dlcc::relay
