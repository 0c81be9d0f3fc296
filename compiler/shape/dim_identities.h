// Identities of sums and products. Internal to compiler/shape.
#pragma once

#include "shape/dim.h"

namespace dlcc {

// A sum of equal value, with fewer terms if one of these holds for some of them:
//
//   floor_div(n, k) + floor_div(n + 1, k) + ... + floor_div(n + k - 1, k) = n
//   n - floor_div(n, 2) = floor_div(n + 1, 2)              and others of these k parts
//   n + floor_mod(-n, k) = k * floor_div(n + k - 1, k)     n rounded up to a multiple of k
//
// So equal sizes compare equal, whichever way a model rounds them.
Dim with_identities(const Dim& sum);

// Also with k * floor_div(n, k) in place of n - floor_mod(n, k), which is n rounded down. This is of use where the sum
// is divided. Elsewhere the remainder is better: facts about remainders bound the sum.
Dim with_multiples(const Dim& sum);

// The product of the atoms of `t` and its coefficient. Indicators min(x, 1), which are 0 or 1, are left out where the
// others tell that x is not 0, and in the operands of the others:
//
//   n * min(n, 1) = n
//   max(n * min(m, 1), k) * min(m, 1) = max(n, k) * min(m, 1)
//
// The size of a broadcast result has such factors, because 1 and 0 give 0. So a chain of broadcasts of a few sizes has
// a size that does not grow.
Dim product_of(Dim::Term t);

// min(x, 1) for a product x >= 0 of several factors: the product of their min(factor, 1); empty for other dims.
std::optional<Dim> least_of_factors(const Dim& x);

}  // namespace dlcc
