// Reads and writes files of one TensorProto, the format of ONNX test data: test_data_set_0/input_0.pb.
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

// Reads a serialised TensorProto. `folder`: of external data; empty: external data is an error.
std::optional<NamedTensor> read_tensor_proto(std::span<const std::byte> bytes, const SourceLocation&, Diagnostics&,
                                             const std::string& folder = "");

// A serialised TensorProto with the elements in raw_data.
std::vector<std::byte> write_tensor_proto(const std::string& name, const Constant&);

}  // namespace dlcc::frontends::onnx
