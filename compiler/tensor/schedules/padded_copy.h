// Scratch copies of operands for reductions over dense images (tiled_reduction.h). A copy holds the elements that a
// stage reads, those outside of the operand included, so that no load needs a test. Where neighbouring results read
// elements at a distance, the copy brings them together:
//
//   * Along the row of the result, elements at the distance `stride` become neighbours. The copy has one row for each
//     index modulo the stride that is read, a phase:
//
//       operand      0 1 2 3 4 5 6          stride 2, 3 taps:   0 2 4 6     stride 2, 1 tap:   0 2 4 6
//                                                               1 3 5 -
//     Or the row is copied as it is.
//   * Along other dimensions, indices that no result reads are left out.
#pragma once

#include <optional>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

struct PaddedCopy {
  // Index i of the copy is index first + i / kept * stride + i % kept of the operand. `axis` is the axis of the results
  // whose indices are `stride` apart, or null.
  struct Dimension {
    int64_t first = 0, stride = 1, kept = 1;
    Var axis;
  };

  Buffer operand;
  // Has the dimensions of the operand. With several phases, the last one is replaced by two: phase and quotient.
  Buffer padded;
  std::vector<Dimension> dimensions;  // of the operand; the last one has `kept` phases
  Expr outside;                       // the value of the elements outside of the operand, a literal

  bool is_row(size_t dimension) const { return dimension + 1 == dimensions.size(); }
};

// A copy for the elements that a load of the stage reads. With `in_phases`, the last index of the load is a multiple,
// by more than 1, of the row's index `x` and a sum without x; else rows have no phases. Empty if an index has no bounds,
// or the value outside is no literal.
std::optional<PaddedCopy> plan_padded_copy(const Load&, const Stage&, const Var& x, bool in_phases);

// Whether both copies hold the same elements in the same order.
bool are_equal(const PaddedCopy&, const PaddedCopy&);

// The element of the copy that the load reads.
Expr load_from(const PaddedCopy&, const Load&);

Stmt fill(const PaddedCopy&);

}  // namespace dlcc::tensor
