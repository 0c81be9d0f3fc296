// Specializes a definition for a call of which some operands are scalars, such as the counter of a loop.
#pragma once

#include <optional>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Replaces parameter `param`, of rank 0, by a further scalar parameter.
void pass_by_value(TensorFunction&, size_t param);

// Removes the requirements that depend only on scalar parameters and symbols, and returns them. The caller must check
// them before each call.
std::vector<Requirement> take_scalar_requirements(TensorFunction&);

// An index into a dimension of the given extent. It depends only on scalar parameters and symbols.
struct ScalarIndex {
  Expr index;
  Dim extent;
  // Some load is in an arm of a select: the index may be out of range where the arm is not selected.
  bool conditional = false;
};

// Applies if every load of the parameter has the same scalar index in the outermost dimension whose extent is not 1.
// Removes this dimension, so that the parameter is a slice of the operand, and returns the index. Otherwise empty, and
// the function is unchanged.
std::optional<ScalarIndex> slice_parameter(TensorFunction&, size_t param);

// A function whose result is parameter `param` with one slice replaced: the slice at a scalar index of the outermost
// dimension whose extent is not 1.
struct SliceUpdate {
  TensorFunction slice;  // computes the slice; has the parameters of the whole function
  ScalarIndex at;
};
std::optional<SliceUpdate> slice_update(const TensorFunction&, size_t param);

// The value of a function without loads whose only result has rank 0; empty for a reduction.
std::optional<Expr> scalar_value(const TensorFunction&);

// Removes the scalar parameters that no stage uses, and returns the positions of the others.
std::vector<size_t> remove_unused_scalars(TensorFunction&);

}  // namespace dlcc::tensor
