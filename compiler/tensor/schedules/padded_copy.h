// Scratch copies of operands for reductions over dense images (tiled_reduction.h). A copy holds all elements that a
// stage reads, those outside of the operand included, so that no load needs a test. If neighbouring results read
// elements that are `phases` apart, the copy stores these elements next to each other, as one row for each index modulo
// `phases`:
//
//   operand      0 1 2 3 4 5 6          phases = 2:   0 2 4 6
//                                                     1 3 5 -
#pragma once

#include <optional>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

struct PaddedCopy {
  Buffer operand;
  // The dimensions of the operand, whose index i is here i - first. With several phases, the last dimension is
  // replaced by two: the index modulo `phases`, and the quotient.
  Buffer padded;
  std::vector<int64_t> first;
  Expr outside;  // the value of the elements outside of the operand, a literal
  int64_t phases = 1;
};

// A copy for the elements that a load of the stage reads. Empty if its indices have no bounds, or the value outside is
// no literal.
std::optional<PaddedCopy> plan_padded_copy(const Load&, const Stage&, int64_t phases);

// Whether both copies hold the same elements in the same order.
bool are_equal(const PaddedCopy&, const PaddedCopy&);

// The element of the copy that the load reads. `x` is the index of the result in its row; with several phases, the
// load's last index is phases * x + a rest without x.
Expr load_from(const PaddedCopy&, const Load&, const Var& x);

Stmt fill(const PaddedCopy&);

}  // namespace dlcc::tensor
