// Tensors in files, by suffix: .npy or .pb (ONNX TensorProto); and data sets as ONNX lays them out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emit/interface.h"
#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc {

std::optional<Constant> read_tensor(const std::string& path, Diagnostics&);

// The contents of the file `path` that holds a tensor.
std::vector<std::byte> tensor_file(const std::string& path, const std::string& name, const Constant&);

// FOLDER/input_0.pb, input_1.pb, ..., output_0.pb, ...
struct DataSet {
  std::vector<Constant> inputs, outputs;
};
std::optional<DataSet> read_data_set(const std::string& folder, size_t inputs, size_t outputs, Diagnostics&);

// Type and shape of a tensor are those of the interface. Reports it, with what it is and where it is from, when not.
bool fits(const Constant&, const emit::TensorInterface&, const char* what, const SourceLocation&, Diagnostics&);

// The same for all of a kind.
bool fits(const std::vector<Constant>&, const std::vector<emit::TensorInterface>&, const char* what, Diagnostics&);

// Standard normal numbers (small integers for integer types) from a fixed seed: inputs when the user gives none.
Constant random_tensor(const emit::TensorInterface&, uint64_t seed);

}  // namespace dlcc
