// Single tensors in ONNX's file format, as data sets store them: test_data_set_0/input_0.pb.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc::frontends::onnx {

struct NamedTensor {
  std::string name;  // may be empty
  Constant value;
};

// Reads a serialised TensorProto. `folder` is where external data may lie; none if empty.
std::optional<NamedTensor> read_tensor_proto(std::span<const std::byte> bytes, const SourceLocation&, Diagnostics&,
                                             const std::string& folder = "");

// The same as bytes, with the elements in raw_data.
std::vector<std::byte> write_tensor_proto(const std::string& name, const Constant&);

}  // namespace dlcc::frontends::onnx
