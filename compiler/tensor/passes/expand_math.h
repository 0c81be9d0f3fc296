// Expands transcendental functions into arithmetic, so that generated code needs no math library and the evaluator's
// results have the same bits as the object's.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// exp, expm1, log, log1p, tanh, erf, sigmoid, pow, the trigonometric and hyperbolic functions and their inverses on
// float32 and float64 become polynomials, with fused multiply-adds, shifts and selects; the remainder of floats becomes
// a long division, which is exact. Integer pow becomes repeated squaring. The error is below 2.5 units in the last
// place (ulp) for all arguments, except up to 32 ulp of float64 pow near the limits of its range. NaN, infinities,
// signed zeros and subnormal results are as in IEEE 754.
//
// A power with the literal exponent -1, -1/2, 1/2, 1, 2, 3 or 4 becomes products, a root or a quotient.
struct MathOptions {
  // Without, products and sums are rounded one by one, for CPUs without fused multiply-add: errors stay below 4 ulp.
  // Powers of float64, which would lose digits, have fused multiply-adds all the same.
  bool fused = true;
  // erf and tanh of float32 are one quotient of polynomials, in a third and half of the time and within 6 ulp, or 8 if
  // not fused.
  bool fast = false;
};
Expr expand_math(const Expr&, MathOptions = {});
Stmt expand_math(const Stmt&, MathOptions = {});

}  // namespace dlcc::tensor
