// Expands transcendental functions into arithmetic, so that generated code needs no math library and the evaluator's
// results have the same bits as the object's.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// exp, log, tanh, erf, sigmoid, sin, cos and pow on float32 and float64 become polynomials, with fused multiply-adds,
// shifts and selects. Integer pow becomes repeated squaring. The error is below 2.5 units in the last place (ulp) for
// all arguments; NaN, infinities, signed zeros and subnormal results are as in IEEE 754. Exceptions, both in float64:
// pow has up to 32 ulp near the limits of its range; sin and cos are exact to 2.5 ulp up to |x| = 2^30 only, and some
// value in [-1, 1] beyond.
//
// `fused` false rounds multiply-adds twice, for targets without the instruction: float32 errors stay below 4 ulp,
// float64 pow loses digits.
Expr expand_math(const Expr&, bool fused = true);
Stmt expand_math(const Stmt&, bool fused = true);

}  // namespace dlcc::tensor
