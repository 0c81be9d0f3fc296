// Tensors in numpy's file format (.npy, versions 1 to 3).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc {

// Reads one array, also of big-endian numbers or in Fortran order. Types that numpy itself lacks are stored as raw
// bytes
// ("|V2"), so that the file does not tell which they are: `expected` does; it also says when bytes are 4-bit elements.
// Reports malformed_tensor and unsupported_type.
std::optional<Constant> read_npy(std::span<const std::byte> bytes, const SourceLocation&, Diagnostics&,
                                 std::optional<DType> expected = std::nullopt);

// Writes version 1. bfloat16 and float8 elements become raw bytes, as ml_dtypes writes them; 4-bit ones a byte each.
std::vector<std::byte> write_npy(const Constant&);

}  // namespace dlcc
