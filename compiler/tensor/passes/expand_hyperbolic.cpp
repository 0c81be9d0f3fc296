// Hyperbolic functions and their inverses, and exp and log near 0 and 1. Polynomials are minimax approximations
// (Remez).
#include <cmath>

#include "tensor/passes/float_math.h"

namespace dlcc::tensor {

// e^x - 1 = 2^n ((e^r - 1) + (1 - 2^-n)).
Expr FloatMath::expm1(const Expr& x) const {
  ExpReduction p = reduce_exp_argument(min(number(is_double() ? 710 : 89), max(number(is_double() ? -50 : -25), x)));
  Expr n = bits_of(p.shifted) - bits_of(number(magic()));
  Expr rest = number(1) - power_of_two(max(-n, integer(-60)));
  Expr result = scale(multiply_add(exp_slope(p.rest), p.rest, rest), n);
  return with_sign_of(absolute(result), x);
}

// log(1 + x): if 1 + x is near 1 the argument of the polynomial is x itself, else the rounding error of the sum is a
// correction.
Expr FloatMath::log1p(const Expr& x) const {
  Expr sum = x + number(1);
  auto [m, e] = split(sum);
  Expr near = equal(e, number(0)), error = (x - (sum - number(1))) / sum;
  Expr finite = log_of(select(near, x, m - number(1)), e, select(near, number(0), error));
  return select(equal(x, number(0)), x, select_log(sum, finite));
}

// e^x / 2 for x >= 0; overflows where cosh does.
Expr FloatMath::half_exp(const Expr& x) const {
  ExpReduction p = reduce_exp_argument(min(number(is_double() ? 711 : 90), x));
  return scale(exp_of_reduced(p.rest), bits_of(p.shifted) - bits_of(number(magic())) - integer(1));
}

// sinh a is a + a^3 p(a^2) for a < 1, else (e^a - e^-a) / 2.
Expr FloatMath::sinh(const Expr& x) const {
  static const std::vector<double> single{0.166667193, 0.00833000562, 0.000203995176};
  static const std::vector<double> twice{0x1.5555555555555p-3,  0x1.1111111111111p-7,  0x1.a01a01a019fc8p-13,
                                         0x1.71de3a5573ccep-19, 0x1.ae64567404a50p-26, 0x1.61246b2b51a0ep-33,
                                         0x1.ae753d1b316d0p-41, 0x1.9a89deb9907e9p-49};
  Expr a = absolute(x), z = a * a, e = half_exp(a);
  Expr near = multiply_add(a * z, polynomial(is_double() ? twice : single, z), a);
  return with_sign_of(select(a < number(1), near, e - number(0.25) / e), x);
}

Expr FloatMath::cosh(const Expr& x) const {
  Expr e = half_exp(absolute(x));
  return e + number(0.25) / e;
}

// asinh a = log1p(a + a^2 / (1 + sqrt(a^2 + 1))); for large a it is log(2 a).
Expr FloatMath::asinh(const Expr& x) const {
  Expr a = absolute(x), one = number(1), square = a * a, large = a > number(is_double() ? 0x1p28 : 0x1p12);
  Expr sum = select(large, a - one, a + square / (one + root(square + one)));
  Expr ln2 = number(0x1.62e42fefa39efp-1);
  return with_sign_of(log1p(sum) + select(large, ln2, number(0)), x);
}

// acosh x = log1p(t + sqrt(2 t + t^2)) with t = x - 1; for large x it is log(2 x).
Expr FloatMath::acosh(const Expr& x) const {
  Expr t = x - number(1), large = x > number(is_double() ? 0x1p28 : 0x1p12);
  Expr sum = select(large, t, t + root(t * (number(2) + t)));
  Expr result = log1p(sum) + select(large, number(0x1.62e42fefa39efp-1), number(0));
  return select(x < number(1), nan(), result);
}

// atanh a = log1p(2 a / (1 - a)) / 2.
Expr FloatMath::atanh(const Expr& x) const {
  Expr a = absolute(x);
  return with_sign_of(number(0.5) * log1p((a + a) / (number(1) - a)), x);
}

}  // namespace dlcc::tensor
