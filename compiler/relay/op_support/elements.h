// Elements of tensors and conditions on them, for operators' definitions. Includes the language of definitions
// (tensor/builder.h).
#pragma once

#include <vector>

#include "relay/operator_spec.h"
#include "tensor/builder.h"

namespace dlcc::relay {

using tensor::Definition;
using tensor::Expr;
using tensor::Index;
using tensor::Tensor;
using tensor::TensorFunction;

// The element in its stored type, without the widening of float16 and bfloat16: for operators that only move data.
Expr stored(const Tensor&, std::vector<Expr> index);
// Element k of a rank-1 integer tensor as int64.
Expr integer_at(const Tensor&, int64_t k);
// The only element of a tensor of rank 0.
Expr scalar(const Tensor&);
// A literal of a type in which arithmetic is done.
Expr number(DType, double);

Expr not_equal(Expr a, Expr b);
Expr all_of(const std::vector<Expr>&);  // true for none
Expr any_of(const std::vector<Expr>&);  // false for none

}  // namespace dlcc::relay
