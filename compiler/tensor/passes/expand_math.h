// Replaces transcendental functions by arithmetic, so that generated code needs no math library and the evaluator
// computes the same bits as the object.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// exp, log, tanh, erf, sigmoid, sin, cos and pow on float32 and float64 become polynomials on fused multiply-adds, shifts
// and selects; integer pow becomes squarings. Largest errors in units in the last place, over the full range with NaN,
// infinities, signed zeros and subnormal results: below 2.5 for both types; float64 pow 32 where the result nears the
// limits of its range, float64 sin and cos only up to |x| = 2^30 (beyond, some value in [-1, 1]).
//
// `fused`: without it, multiply-adds are rounded twice (for targets that lack the instruction); float32 stays below 4,
// float64 pow loses digits.
Expr expand_math(const Expr&, bool fused = true);
Stmt expand_math(const Stmt&, bool fused = true);

}  // namespace dlcc::tensor
