// Recognises kinds of files that are often given in place of a model or a tensor: archives, models of other frameworks,
// what a download leaves when it fails.
#pragma once

#include <cstddef>
#include <span>

#include "support/diagnostics.h"

namespace dlcc {

// What a file is read as: a model, a tensor of ONNX, an array of NumPy, an archive of arrays.
enum class FileUse : uint8_t { model, tensor_proto, npy, npz };

// Reports bytes that are recognised as another kind of file than their use needs: what they are, and what a person can
// do. Returns whether it did. Other bytes may be anything.
bool report_wrong_kind(std::span<const std::byte>, FileUse, const SourceLocation&, Diagnostics&);

}  // namespace dlcc
