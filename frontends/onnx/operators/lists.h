// Lists: with one number per axis, known at compile time or computed by the model; and of tensors, stacked.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

Value integers(const std::vector<int64_t>&);  // int64
Value floats(const std::vector<float>&);      // float32
// The sizes of a tensor, int64. A constant if they are known.
Value sizes_of(Node&, const Value&);

// The elements [begin, end) of a list.
Value slice_of(Node&, const Value& list, int64_t begin, int64_t end);

// The list with element j of `numbers` at position axes[j], and elements of `otherwise` at all other positions.
Value spread(Node&, const Value& numbers, const std::vector<int64_t>& axes, const Value& otherwise);

// Tensors of equal types, at least one, along a new axis.
Value stacked(Node&, const Values&, int64_t axis);

// The attribute `axes`, each in [0, rank) and named once; all axes without it.
std::optional<std::vector<int64_t>> axes_attribute(Node&, int64_t rank);

// Whether an input is a list of `length` numbers, with a report if not. A run checks a length that is not known.
bool check_length(Node&, int input, size_t length);

}  // namespace dlcc::frontends::onnx
