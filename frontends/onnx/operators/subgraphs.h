// Inputs and outputs of bodies, for the operators that have a body.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// A value of one element with rank 0: the scalar from which the current block reshaped it, if there is one.
Value as_scalar(Node&, const Value&);

// A value of one element with rank 1 if the body declares its input so, else as it is.
Value in_declared_rank(Node&, const Value&, const schema::ValueInfoProto& input);

// Whether the graph's output is its input, unchanged.
bool passes_on(const schema::GraphProto&, const std::string& input, std::string output);

// The sizes that the body declares for its output as numbers, one for each axis; empty if it declares no shape.
std::vector<std::optional<int64_t>> declared_sizes(const schema::ValueInfoProto& output);

// The value of a carried output after an iteration, with the type that it had before. Sizes that are not known to be
// equal are required to be; others are reported.
Value carried(Node&, const std::string& output, const relay::TensorType& before, const Value& after);

}  // namespace dlcc::frontends::onnx
