// Replaces transcendental functions by arithmetic, so that generated code needs no math library and the evaluator
// computes the same bits as the object.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// exp, log, tanh, erf, sigmoid, sin, cos and pow on float32 and float64 become polynomials on fused multiply-adds,
// shifts and selects; integer pow becomes squarings. Largest errors in units in the last place, over the full range
// with NaN, infinities, signed zeros and subnormal results: float32 below 2; float64 below 4, pow below 8. sin and cos
// of float64 are that accurate up to |x| = 2^30 only. `fused`: without it, multiply-adds are rounded twice (for targets
// that lack the instruction); float32 stays below 4.
Expr expand_math(const Expr&, bool fused = true);
Stmt expand_math(const Stmt&, bool fused = true);

}  // namespace dlcc::tensor
