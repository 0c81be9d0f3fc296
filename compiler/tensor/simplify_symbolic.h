// Simplification of index arithmetic under facts about symbolic sizes, which complements that under ranges of numbers
// (simplify.h).
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

class IndexFacts;

// Simplifies an expression where the facts prove it:
//   * floordiv(i + w * j, w) is j, and floormod(i + w * j, w) is i, for 0 <= i < w, also where w is a sum;
//   * minima and maxima of which one operand is never larger are that operand;
//   * comparisons that always or never hold are replaced by their result;
//   * predicated loads whose indices are in range lose the predicate.
Expr simplify_symbolic(const Expr&, const IndexFacts&);

// Simplifies the values of all stages without a body, by the extents of their axes.
void simplify_symbolic(TensorFunction&);

}  // namespace dlcc::tensor
