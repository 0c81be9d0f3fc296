// Convolution and pooling that several operators share.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// The convolution with the node's attributes, without bias. Messages name the operands by their roles.
Value convolution(Node&, const Value& data, const Value& weight);

// The average of each window, with the node's attributes.
Value average_pooling(Node&, const Value& data);

// The condition of operators that are convolutions, for Table::only_if.
inline constexpr const char* condition_of_convolution =
    "there are one to three spatial axes, and the sizes of the kernel, and with groups the number of output channels, "
    "are known at compile time";

// Reports an attribute kernel_shape that is not the sizes of the kernel, which are known from its weights.
void check_kernel_shape(Node&, const Value& weight, const std::vector<int64_t>& sizes);

}  // namespace dlcc::frontends::onnx
