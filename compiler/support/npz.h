// Reads and writes archives of arrays in numpy's format: zip files (.npz) of .npy files, stored or deflated.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc {

struct NamedArray {
  std::string name;  // without ".npy"
  Constant value;
};

// Reads the arrays of an archive. Arrays of types that dlcc lacks, such as strings, are left out with a remark, since a
// data set may have more than a model needs; entries other than .npy files are ignored. Reports malformed_tensor.
std::optional<std::vector<NamedArray>> read_npz(std::span<const std::byte> bytes, const SourceLocation&, Diagnostics&);

// Writes an archive without compression and without times: equal arrays give equal bytes.
std::vector<std::byte> write_npz(const std::vector<NamedArray>&);

}  // namespace dlcc
