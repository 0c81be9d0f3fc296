// Algebraic simplification of index arithmetic under ranges of variables: floordiv(16 * o + i, 16) is o if 0 <= i < 16.
#pragma once

#include <map>
#include <optional>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Inclusive bounds of an integer expression.
struct Range {
  int64_t low, high;
};
using Ranges = std::map<Var, Range>;

// The range of an int64 expression; empty if none can be derived without overflow.
std::optional<Range> range_of(const Expr&, const Ranges&);

// An equal expression in a simpler form:
//   * linear terms are collected and ordered;
//   * floordiv and floormod of sums with a multiple of the divisor are split;
//   * comparisons, selects, min and max that the ranges decide are replaced by their result;
//   * predicated loads whose indices are provably in range lose the predicate.
// Float arithmetic is left as it is. Idempotent.
Expr simplify(const Expr&, const Ranges& = {});

// Simplifies the expressions of a statement under the ranges of the loops around them. Removes branches that are never
// taken, requirements that always hold, and loops of extent 0 or 1.
Stmt simplify(const Stmt&, const Ranges& = {});

// The change of an index when the variable grows by one; empty if it is not constant.
std::optional<int64_t> stride_along(const Expr& index, const Var&);

}  // namespace dlcc::tensor
