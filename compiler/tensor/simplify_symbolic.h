// Simplification of index arithmetic under facts about symbolic sizes, which complements that under ranges of numbers
// (simplify.h).
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// Simplifies the values of all stages without a body, where the extents of a stage's axes prove it:
//   * floordiv(i + w * j, w) is j, and floormod(i + w * j, w) is i, for 0 <= i < w;
//   * minima and maxima of which one operand is never larger are that operand;
//   * comparisons that always or never hold are replaced by their result;
//   * predicated loads whose indices are in range lose the predicate.
void simplify_symbolic(TensorFunction&);

}  // namespace dlcc::tensor
