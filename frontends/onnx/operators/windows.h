// The convolution that Conv, QLinearConv and ConvInteger share.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// With the node's attributes, without bias. Messages name the operands by their roles.
Value convolution(Node&, const Value& data, const Value& weight);

}  // namespace dlcc::frontends::onnx
