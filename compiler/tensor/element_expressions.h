// Evaluates definitions of small tensors on scalar expressions: the elements of operands are expressions over scalars,
// and so are the elements of results. A size that a model computes from elements of its inputs thus becomes a scalar
// expression over these elements.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

struct ElementExpressions {
  static constexpr int64_t max_elements = 64;
  static constexpr int64_t max_nodes = 4096;  // of the expression of one element

  std::vector<int64_t> shape;
  std::vector<Expr> elements;  // row-major, of the tensor's type, without loads; null: not known
};
using KnownElements = std::shared_ptr<const ElementExpressions>;  // null: no element is known

// The elements of the function's results, given the elements `args` of its parameters. The expressions are defined for
// all values of their scalars and do not check the function's requirements.
std::vector<KnownElements> element_expressions(const TensorFunction&, std::span<const KnownElements> args);

}  // namespace dlcc::tensor
