// Reads and writes tensors in files, .npy or .pb (ONNX TensorProto) by suffix, and data sets in ONNX's folders.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emit/interface.h"
#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc {

std::optional<Constant> read_tensor(const std::string& path, Diagnostics&);

// The contents of a file `path` that holds the tensor.
std::vector<std::byte> tensor_file(const std::string& path, const std::string& name, const Constant&);

// FOLDER/input_0.pb, input_1.pb, ..., output_0.pb, ...
struct DataSet {
  std::vector<Constant> inputs, outputs;
};
std::optional<DataSet> read_data_set(const std::string& folder, size_t inputs, size_t outputs, Diagnostics&);

// Whether a tensor has the type and shape of the interface; reports it otherwise. `what` is "input" or "output".
bool fits(const Constant&, const emit::TensorInterface&, const char* what, const SourceLocation&, Diagnostics&);

// The same for all inputs or all outputs.
bool fits(const std::vector<Constant>&, const std::vector<emit::TensorInterface>&, const char* what, Diagnostics&);

// Standard normal numbers, or integers in [0, 9) for integer types, from a seed.
Constant random_tensor(const emit::TensorInterface&, uint64_t seed);

}  // namespace dlcc
