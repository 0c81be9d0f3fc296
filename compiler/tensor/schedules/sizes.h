// The sizes that schedules decide by: bytes of tensors, typical sizes of images, and the scalars that kernels receive.
#pragma once

#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// The scalar parameters of a function's kernels: its own, then a variable for each symbol, sorted by name.
std::vector<Var> scalars_of_kernel(const TensorFunction&);

// Bytes of a tensor in dense storage; for a symbolic shape the upper bound, at most 2^44.
int64_t bytes_of(const Buffer&);

// Whether the buffer has more than `bytes` bytes; true for a buffer of symbolic size.
bool is_larger(const Buffer&, int64_t bytes);

// The value that estimates assume for a size of an image: each symbol is typical_image_side (shape/typical_sizes.h),
// clamped to the symbol's bounds. At least 1.
int64_t typical_image_size(const Dim&);

}  // namespace dlcc::tensor
