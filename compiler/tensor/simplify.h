// Algebraic simplification of index arithmetic, with ranges of variables: (16 * o + i) / 16 is o when 0 <= i < 16.
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

// Bounds of an int64 expression, when they can be derived without overflow.
std::optional<Range> range_of(const Expr&, const Ranges&);

// An equal expression in a simpler form: linear terms collected and ordered, floordiv/floormod of block indices
// resolved, comparisons and selects decided where ranges allow, min/max of ordered operands dropped, predicated loads
// made plain when provably inside. Integer and bool parts only; float arithmetic is left as it is. Idempotent.
Expr simplify(const Expr&, const Ranges& = {});

// Simplifies all expressions of a kernel body under the ranges of the surrounding loops; removes branches that are
// never taken, requirements that always hold, and loops of extent 0 or 1.
Stmt simplify(const Stmt&, const Ranges& = {});

}  // namespace dlcc::tensor
