// The type rules of expressions:
//
//   * The operands of a binary operation, and the arms of a select, have equal types. Operands of fma and of
//     transcendental functions are floats, those of bit operations are integers, conditions are bool.
//   * float16, bfloat16, floats of at most 8 bits and integers of 2 and 4 bits are only loaded, selected, cast and
//     stored.
//   * A load has one int64 index per dimension. The `otherwise` value of a predicated load has the buffer's type.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Gets the message for each violated rule.
using Report = std::function<void(std::string)>;

// Reports the rules that the node violates; its operands are not checked.
void check_types(const Expr& node, const Report&);

// Reports a wrong number or wrong types of indices into a buffer.
void check_indices(const Buffer&, const std::vector<Expr>& indices, const Report&);

}  // namespace dlcc::tensor
