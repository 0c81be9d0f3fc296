// Conditions on sizes that a run computes in int64, where a product of large sizes may wrap.
#pragma once

#include <vector>

#include "shape/dim.h"
#include "tensor/ir.h"

namespace dlcc::lower {

// Hold together if and only if the size is at most `limit` and int64 represents it and its parts. Refuses some sizes of
// which only a part, such as h * h in h * h - 6 * h + 9, has a magnitude above 2^62.
std::vector<tensor::Expr> conditions_of_small_size(const Dim&, int64_t limit);

// The same for a size in [0, 2^40].
std::vector<tensor::Expr> conditions_of_size(const Dim&);

}  // namespace dlcc::lower
