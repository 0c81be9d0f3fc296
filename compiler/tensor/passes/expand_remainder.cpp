// The remainder of a division of floats.
#include "tensor/passes/float_math.h"

namespace dlcc::tensor {

// Long division in float64 that computes 50 bits of the quotient per step. The remainder of r * 2^50 and the divisor's
// mantissa is exact with one fused multiply-add. The largest quotient of two float32 has 277 bits, of two float64
// 2,098.
Expr FloatMath::remainder(const Expr& x, const Expr& y) const {
  FloatMath wide(dtype::f64, true);
  constexpr int64_t bits_per_step = 50;
  const int steps = is_double() ? 42 : 6;
  Expr a = cast(dtype::f64, absolute(x)), b = cast(dtype::f64, absolute(y)), zero = wide.number(0);
  Split dividend = wide.split(a), divisor = wide.split(b);
  Expr rest = dividend.mantissa, left = cast(dtype::i64, dividend.exponent - divisor.exponent);
  for (int k = 0; k < steps; ++k) {
    Expr shift = min(left, Expr(bits_per_step));
    Expr shifted = rest * wide.power_of_two(shift);
    Expr quotient = unary(UnaryOp::trunc, shifted / divisor.mantissa);
    rest = fma(-quotient, divisor.mantissa, shifted);
    rest = select(rest < zero, rest + divisor.mantissa, rest);  // the quotient was rounded up
    left = left - shift;
  }
  Expr result = cast(type_, wide.scale(rest, cast(dtype::i64, divisor.exponent)));
  result = with_sign_of(select(a < b, absolute(x), result), x);
  Expr defined = logical_and(b > zero, a < wide.infinite());
  return select(logical_and(defined, equal(y, y)), result, nan());
}

}  // namespace dlcc::tensor
