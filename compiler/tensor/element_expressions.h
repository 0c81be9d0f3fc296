// The elements of small tensors as expressions over scalars: what a definition computes from operands whose elements
// are such expressions. So a size that a model computes from elements of its inputs becomes a scalar expression over
// these elements.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

struct ElementExpressions {
  static constexpr int64_t most_elements = 64;
  static constexpr int64_t most_nodes = 4096;  // of the expression of one element

  std::vector<int64_t> shape;
  std::vector<Expr> elements;  // row-major, of the tensor's type, without loads; null: not known
};
using KnownElements = std::shared_ptr<const ElementExpressions>;  // null: no element is known

// The function's results. `args` are the elements of its parameters. Requirements of the function are not part of the
// expressions, which are defined for all values of their scalars.
std::vector<KnownElements> element_expressions(const TensorFunction&, std::span<const KnownElements> args);

}  // namespace dlcc::tensor
