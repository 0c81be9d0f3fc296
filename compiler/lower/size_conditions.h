// Conditions on sizes that a run computes in int64, where a product of large sizes may wrap.
#pragma once

#include <vector>

#include "shape/dim.h"
#include "tensor/ir.h"

namespace dlcc::lower {

// Conditions that all hold only if int64 represents the size and its parts. Each part, such as h * h in
// h * h - 6 * h + 9, must have a magnitude of at most 2^62, also where the size itself is small.
std::vector<tensor::Expr> conditions_without_wrapping(const Dim&);

// Conditions that all hold only if the size is at most `limit`, and then unless a part of the size is too large.
std::vector<tensor::Expr> conditions_of_small_size(const Dim&, int64_t limit);

// The same for a size in [0, 2^40].
std::vector<tensor::Expr> conditions_of_size(const Dim&);

}  // namespace dlcc::lower
