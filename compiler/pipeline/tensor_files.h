// Reads and writes tensors in files, .npy or .pb (ONNX TensorProto) by suffix, and data sets in folders or .npz files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emit/interface.h"
#include "frontends/arguments.h"
#include "frontends/onnx/tensor_proto.h"
#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc {

std::optional<Constant> read_tensor(const std::string& path, Diagnostics&);

// The contents of a file `path` that holds the tensor.
std::vector<std::byte> tensor_file(const std::string& path, const std::string& name, const Constant&);

// Inputs of a model and the outputs that they must give, in the model's order.
struct DataSet {
  std::vector<Constant> inputs, outputs;
};

// Reads a data set. A folder has input_0, input_1, ..., output_0, ..., each with .pb or .npy, one for each of the
// arguments; an archive (.npz) has arrays with the names of the inputs and outputs of the interface. Empty, with
// diagnostics, if a file is missing or unreadable, or has data of another form than the argument was compiled for.
std::optional<DataSet> read_data_set(const std::string& path, const emit::Interface&, const frontends::Arguments&,
                                     Diagnostics&);

// The arrays of an archive (.npz) in the order of the tensors that they are named after, by name or C identifier.
// Empty, with diagnostics, when one is missing or the archive cannot be read.
std::optional<std::vector<Constant>> read_archive(const std::string& path, const std::vector<emit::TensorInterface>&,
                                                  const char* what, Diagnostics&);

// Reads the data of an input or output from a file.
std::optional<frontends::onnx::ArgumentData> read_argument(const std::string& path, frontends::ArgumentKind,
                                                           Diagnostics&);

// Whether the data have the form for which the argument was compiled; reports a mismatch.
bool fits(const frontends::onnx::ArgumentData&, const frontends::Argument&, const SourceLocation&, Diagnostics&);

// The file of input K of a data set in a folder: input_K.npy if it exists, else input_K.pb.
std::string input_file(const std::string& folder, size_t k);

// Whether a tensor has the type of an input, and its sizes where they are numbers; reports a mismatch.
bool fits(const Constant&, const emit::Interface&, size_t input, const SourceLocation&, Diagnostics&);

// The same for all inputs.
bool fits(const std::vector<Constant>& inputs, const emit::Interface&, Diagnostics&);

// Standard normal numbers, or integers in [0, 9) for integer types, from a seed.
Constant random_tensor(const emit::TensorInterface&, uint64_t seed);

}  // namespace dlcc
