// Reads and writes ONNX test data, test_data_set_0/input_0.pb: files of one TensorProto, SequenceProto or
// OptionalProto.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontends/arguments.h"
#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc::frontends::onnx {

struct NamedTensor {
  std::string name;  // may be empty
  Constant value;
};

// Reads a serialized TensorProto. `folder`: of external data; empty: external data is an error.
std::optional<NamedTensor> read_tensor_proto(std::span<const std::byte> bytes, const SourceLocation&, Diagnostics&,
                                             const std::string& folder = "");

// The tensors of an input or output.
struct ArgumentData {
  bool absent = false;  // an optional that is absent
  std::vector<Constant> tensors;
};

// Reads the data of an argument: a TensorProto, a SequenceProto of tensors or an OptionalProto, as its kind says.
std::optional<ArgumentData> read_argument(std::span<const std::byte> bytes, ArgumentKind, const SourceLocation&,
                                          Diagnostics&);

// A serialized TensorProto with the elements in raw_data.
std::vector<std::byte> write_tensor_proto(const std::string& name, const Constant&);

}  // namespace dlcc::frontends::onnx
