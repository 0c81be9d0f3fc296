// The rules for the types of expressions:
//
//   * Operands have the types that their operation takes: equal types for binary operations and select's arms, floats
//     for fma and the functions of analysis, bool for conditions, integers for bit operations. float16, bfloat16,
//     float8 and sub-byte types are only loaded, selected, cast and stored.
//   * A load has one int64 index per dimension and, if predicated, an alternative of the buffer's type.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Takes what is wrong, in words.
using Report = std::function<void(std::string)>;

// Reports which rules a node breaks; its operands are checked on their own.
void check_types(const Expr& node, const Report&);

// Reports what is wrong with indices into a buffer: their number, their types.
void check_indices(const Buffer&, const std::vector<Expr>& indices, const Report&);

}  // namespace dlcc::tensor
