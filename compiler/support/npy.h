// Reads and writes tensors in numpy's file format (.npy, versions 1 to 3).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc {

// Reads one array, of either byte order, row-major or in Fortran order. Element types that numpy lacks are stored as
// raw bytes ("|V2"), and elements of 2 and 4 bits as one byte each. Such elements are read as type `expected`. Reports
// malformed_tensor and unsupported_type.
std::optional<Constant> read_npy(std::span<const std::byte> bytes, const SourceLocation&, Diagnostics&,
                                 std::optional<DType> expected = std::nullopt);

// Writes version 1. bfloat16 and float8 elements become raw bytes, as ml_dtypes writes them; elements of 2 and 4 bits
// take a byte each.
std::vector<std::byte> write_npy(const Constant&);

}  // namespace dlcc
