// Tensor functions that only move data: reshapes, slices, concatenations, and which of them can share memory with their
// operands.
#pragma once

#include <optional>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Whether the result has the elements of the only operand in the same row-major order (a reshape), so that it can be a
// view of the operand.
bool is_view(const TensorFunction&);

// If the result is a contiguous range of the only operand's elements in unchanged row-major order (a reshape, or a
// slice of the outermost dimension): the offset of that range, in elements.
std::optional<int64_t> contiguous_slice(const TensorFunction&);

// Whether each element is one of the only operand's, at an index that depends on one axis in each dimension, the same
// for both: a slice, also with steps, and not a reshape or a transposition.
bool is_slice(const TensorFunction&);

// Whether the function is a concatenation: every stage writes a box of the only result, without reduction.
bool is_concatenation(const TensorFunction&);

// Whether a concatenation joins more than one part of each operand, which are not contiguous in its result: the axis is
// inside of another one.
bool joins_parts(const TensorFunction&);

// If the function is a concatenation of its operands, and each operand's storage is a contiguous range of the result's
// storage: the offset of each operand in the result, in elements. The layouts are those of the parameters, then of the
// result.
std::optional<std::vector<Dim>> concat_offsets(const TensorFunction&, const std::vector<Layout>&);

}  // namespace dlcc::tensor
