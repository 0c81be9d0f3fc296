// What the operators with a body share: its inputs and outputs.
#pragma once

#include <string>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// A value of one element with rank 0.
Value as_scalar(Node&, const Value&);

// A value of one element with rank 1 if the body declares its input so, else as it is.
Value in_declared_rank(Node&, const Value&, const schema::ValueInfoProto& input);

// Whether the graph's output is its input, unchanged.
bool passes_on(const schema::GraphProto&, const std::string& input, std::string output);

// Reports a value that is carried from one iteration to the next with another type.
void check_carried(Node&, const std::string& output, const relay::TensorType& before, const relay::TensorType& after);

}  // namespace dlcc::frontends::onnx
