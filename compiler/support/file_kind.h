// Recognizes files of other kinds that users give in place of a model or a tensor: archives, models of other
// frameworks, error pages of failed downloads.
#pragma once

#include <cstddef>
#include <span>

#include "support/diagnostics.h"

namespace dlcc {

// The use of a file: a model, a tensor of ONNX, an array of NumPy, an archive of arrays.
enum class FileUse : uint8_t { model, tensor_proto, npy, npz };

// If the bytes are recognized as a kind of file that does not fit the use, reports wrong_kind_of_file with the kind and
// a remedy, and returns true. False says nothing about the bytes.
bool report_wrong_kind(std::span<const std::byte>, FileUse, const SourceLocation&, Diagnostics&);

}  // namespace dlcc
