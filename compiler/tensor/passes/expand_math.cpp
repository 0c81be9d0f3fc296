// Polynomials are minimax approximations (Remez) of the functions named beside them, over the given range of the
// reduced argument. The method, argument reduction and polynomial, is that of Muller, "Elementary Functions", 3rd
// edition, 2016.
#include "tensor/passes/expand_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/passes/float_math.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

Expr FloatMath::nan() const { return number(std::numeric_limits<double>::quiet_NaN()); }
Expr FloatMath::infinite() const { return number(std::numeric_limits<double>::infinity()); }

Expr FloatMath::polynomial(const std::vector<double>& c, const Expr& x) const {
  Expr sum = number(c.back());
  for (size_t k = c.size() - 1; k-- > 0;) sum = multiply_add(sum, x, number(c[k]));
  return sum;
}

Expr FloatMath::with_sign_of(const Expr& magnitude, const Expr& sign) const {
  Expr mask = integer(is_double() ? INT64_MIN : INT32_MIN);
  return from_bits(binary(BinaryOp::bit_or, bits_of(magnitude), binary(BinaryOp::bit_and, bits_of(sign), mask)));
}

// 2^n for exponents of normal numbers.
Expr FloatMath::power_of_two(const Expr& n) const {
  return from_bits(binary(BinaryOp::shl, n + integer(bias()), integer(mantissa_bits())));
}

// x * 2^exponent in two steps, so that subnormal results are rounded once and large ones overflow.
Expr FloatMath::scale(const Expr& x, const Expr& exponent) const {
  Expr half = binary(BinaryOp::shr, exponent, integer(1));
  return x * power_of_two(half) * power_of_two(exponent - half);
}

// (e^r - 1) / r for |r| <= ln(2) / 2: 1 + r q(r), q fits (e^r - 1 - r) / r^2.
Expr FloatMath::exp_slope(const Expr& r) const {
  static const std::vector<double> single{0.5, 0.166665763, 0.0416663736, 0.00836329814, 0.00139413204};
  static const std::vector<double> twice{0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.5555555555558p-5,
                                         0x1.111111111009bp-7,  0x1.6c16c16c15196p-10, 0x1.a01a01ac0aedbp-13,
                                         0x1.a01a01ad20931p-16, 0x1.71de01c322c68p-19, 0x1.27e4cc72d21a9p-22,
                                         0x1.af4eceb28347bp-26, 0x1.1f8be627914f5p-29};
  return multiply_add(polynomial(is_double() ? twice : single, r), r, number(1));
}

Expr FloatMath::exp_of_reduced(const Expr& r) const { return multiply_add(exp_slope(r), r, number(1)); }

// n = round(x / ln 2) and x - n ln 2. Adding a constant so large that the last bit of the sum has weight 1 rounds to an
// integer. The sign of x is applied to the constants.
FloatMath::ExpReduction FloatMath::reduce_exp_argument(const Expr& x, int sign, int64_t offset) const {
  Expr rounder = number(magic() + static_cast<double>(offset));
  Expr shifted = multiply_add(x, number(sign * 0x1.71547652b82fep0), rounder);
  Expr n = shifted - rounder;
  // Argument reduction in two steps (Cody and Waite, "Software Manual for the Elementary Functions", 1980): the high
  // part of ln 2 has few bits, so that its product with n is exact.
  Expr r = multiply_add(n, number(-sign * (is_double() ? 0x1.62e42feep-1 : 0x1.62e4p-1)), x);
  r = multiply_add(n, number(-sign * (is_double() ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cp-20)), r);
  return {shifted, sign < 0 ? -r : r};
}

// The bounds of x that follow from literals and absolute values among its outermost minima, maxima and sums.
FloatMath::Bounds FloatMath::literal_bounds(const Expr& x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (const Literal* known = as<Literal>(x)) return {known->number, known->number};
  if (const Unary* u = as<Unary>(x); u && u->op == UnaryOp::abs) return {0, infinity};
  const Binary* b = as<Binary>(x);
  if (!b || (b->op != BinaryOp::min && b->op != BinaryOp::max && b->op != BinaryOp::add)) return {-infinity, infinity};
  const Bounds p = literal_bounds(b->a), q = literal_bounds(b->b);
  if (b->op == BinaryOp::add) return {p.low + q.low, p.high + q.high};
  if (b->op == BinaryOp::min) return {std::min(p.low, q.low), std::min(p.high, q.high)};
  return {std::max(p.low, q.low), std::max(p.high, q.high)};
}

// e^x = 2^n e^(x - n ln 2). If x has bounds for which 2^n is a normal number, the bits of `shifted` become its
// exponent.
Expr FloatMath::exp(const Expr& x) const {
  const Bounds bounds = literal_bounds(x);
  if (bounds.low >= (is_double() ? -708 : -87) && bounds.high <= (is_double() ? 709 : 88)) {
    const ExpReduction p = reduce_exp_argument(x, 1, bias());
    return exp_of_reduced(p.rest) * from_bits(binary(BinaryOp::shl, bits_of(p.shifted), integer(mantissa_bits())));
  }
  ExpReduction p = reduce_exp_argument(min(number(is_double() ? 710 : 89), max(number(is_double() ? -746 : -104), x)));
  return scale(exp_of_reduced(p.rest), bits_of(p.shifted) - bits_of(number(magic())));
}

// Subnormals are scaled up first. The exponent is relative to that of sqrt(1/2).
FloatMath::Split FloatMath::split(const Expr& x) const {
  Expr subnormal = x < number(is_double() ? 0x1p-1022 : 0x1p-126);
  int lift = is_double() ? 54 : 24;
  Expr normal = select(subnormal, x * number(std::ldexp(1.0, lift)), x);
  Expr base = bits_of(number(is_double() ? 0x1.6a09e667f3bcdp-1 : 0x1.6a09e6p-1));
  Expr offset = bits_of(normal) - base;
  Expr low = integer(is_double() ? (int64_t{1} << 52) - 1 : (1 << 23) - 1);
  Expr exponent =
      binary(BinaryOp::shr, offset, integer(mantissa_bits())) - select(subnormal, integer(lift), integer(0));
  return {from_bits(binary(BinaryOp::bit_and, offset, low) + base), cast(type_, exponent)};
}

// e ln 2 + log(1 + f), plus a small correction. float32: log(1 + f) = f - f^2/2 + f^3 p(f), where p fits the remainder
// of the series for f in [sqrt(1/2) - 1, sqrt(2) - 1]. float64: with s = f / (2 + f), log(1 + f) = 2 s + s^3 q(s^2)
// (atanh's series, |s| < 0.172).
Expr FloatMath::log_of(const Expr& f, const Expr& e, const Expr& correction) const {
  static const std::vector<double> p{0.333333105,  -0.249999866, 0.200022161,  -0.166692585, 0.142188355,
                                     -0.123843022, 0.118717946,  -0.117896877, 0.069176212};
  static const std::vector<double> q{0x1.5555555555555p-1, 0x1.9999999999a50p-2, 0x1.24924924732dap-2,
                                     0x1.c71c7207a72f7p-3, 0x1.745cf66d61583p-3, 0x1.3b1cc031232adp-3,
                                     0x1.0fb0432777d55p-3, 0x1.0c976b3bc9f46p-3};
  Expr half_square = f * f * number(0.5), small;
  if (is_double()) {
    Expr s = f / (f + number(2)), z = s * s;
    // 2 s = f - s f, and s f = f^2/2 - s f^2/2.
    small = s * (half_square + z * polynomial(q, z)) - half_square;
  } else {
    small = multiply_add(f * f * f, polynomial(p, f), -half_square);
  }
  Expr low = multiply_add(e, number(is_double() ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cp-20), small);
  if (correction) low = low + correction;
  return multiply_add(e, number(is_double() ? 0x1.62e42feep-1 : 0x1.62e4p-1), low + f);
}

Expr FloatMath::log(const Expr& x) const {
  auto [m, e] = split(x);
  return select_log(x, log_of(m - number(1), e));
}

Expr FloatMath::select_log(const Expr& x, const Expr& finite) const {
  double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  Expr r = select(equal(x, number(inf)), number(inf), finite);
  r = select(equal(x, number(0)), number(-inf), r);
  return select(x >= number(0), r, number(nan));
}

// x p(x^2) / q(x^2), between -1 and 1, for x between -bound and bound.
Expr FloatMath::quotient_up_to_1(const Expr& x, double bound, const std::vector<double>& p,
                                 const std::vector<double>& q) const {
  const Expr near = min(number(bound), max(number(-bound), x)), z = near * near;
  return min(number(1), max(number(-1), near * polynomial(p, z) / polynomial(q, z)));
}

// tanh x is x + x^3 p(x^2) for |x| < 0.625, else 1 - 2 / (e^2x + 1) with the sign of x. Where e^2x is limited, the
// result rounds to 1.
Expr FloatMath::tanh(const Expr& x) const {
  static const std::vector<double> single{-0.333333313, 0.133331984,    -0.0539456606,
                                          0.0216938928, -0.00815900788, 0.00212493003};
  static const std::vector<double> twice{-0x1.5555555555555p-2,  0x1.11111111110cap-3,   -0x1.ba1ba1ba16a1dp-5,
                                         0x1.664f48815956dp-6,   -0x1.226e35231640ep-7,  0x1.d6d3c452b5eb4p-9,
                                         -0x1.7da27e63e45dap-10, 0x1.354cae77a16a7p-11,  -0x1.f4ae8e70790dep-13,
                                         0x1.91525f32899e6p-14,  -0x1.324e88673fcb2p-15, 0x1.8845bec72eb38p-17,
                                         -0x1.2b27683d61a79p-19};
  Expr a = absolute(x), z = x * x;
  Expr near = multiply_add(a * z, polynomial(is_double() ? twice : single, z), a);
  Expr far = number(1) - number(2) / (exp(min(number(is_double() ? 40 : 20), a + a)) + number(1));
  return with_sign_of(select(a < number(0.625), near, far), x);
}

// x p(x^2) / q(x^2) for |x| < 9, where it rounds to 1.
Expr FloatMath::fast_tanh(const Expr& x) const {
  static const std::vector<double> p{1, 0.133796155, 0.00349391112, 2.05814376e-05, 1.33162406e-08};
  static const std::vector<double> q{1, 0.46712932, 0.0258706063, 0.000328289025, 7.76085585e-07};
  return quotient_up_to_1(x, 9, p, q);
}

// erf x is x + x p(x^2) for |x| < 1, where p fits erf(x) / x - 1; else 1 - exp(g(x)) with the sign of x, where g fits
// log(erfc(x)) around 2.
Expr FloatMath::erf(const Expr& x) const {
  static const std::vector<double> near_single{0.128379166,   -0.376126379,    0.112837829,    -0.0268654451,
                                               0.00522107491, -0.000848471245, 0.000112705486, -9.68013683e-06};
  static const std::vector<double> near_twice{0x1.06eba8214db69p-3,   -0x1.812746b0379e7p-2,  0x1.ce2f21a042bdep-4,
                                              -0x1.b82ce312889e5p-6,  0x1.565bcd0e658b8p-8,   -0x1.c02db3ff0c7b0p-11,
                                              0x1.f9a326c76ed25p-14,  -0x1.f4d256ab1515cp-17, 0x1.b9e65b72efe8cp-20,
                                              -0x1.5f6e25afec1c2p-23, 0x1.fc4e5512d37e4p-27,  -0x1.4ea8b5005790ep-30,
                                              0x1.81745a5ba1452p-34,  -0x1.36075b9fcfdffp-38, 0x1.bde5b6ad720f2p-46};
  static const std::vector<double> far_single{-5.36494112,    -4.41816092,     -0.923750818,  -0.0164655186,
                                              0.00356998132,  -0.000731986132, 0.00013671958, -2.07590492e-05,
                                              1.10241604e-06, 2.75811459e-07};
  static const std::vector<double> far_twice{
      -0x1.575b329b1f516p+2,  -0x1.1ac3258a8dc2cp+2,  -0x1.d8f5dece92395p-1,  -0x1.0dc3b5fb10b1fp-6,
      0x1.d406b373a157ap-9,   -0x1.7ffcfb46e5af2p-11, 0x1.1bc3a6087f9d0p-13,  -0x1.5b656f85bcd85p-16,
      0x1.0604561879e4ep-19,  0x1.b549dee30d6a1p-23,  -0x1.73e61183448dep-23, 0x1.f0ad64f00f85fp-25,
      -0x1.e043731bb4347p-27, 0x1.5a566ddd4b0aep-29,  -0x1.199a5cd5a80b2p-32, -0x1.3e625eff25757p-35,
      0x1.061704f62a6c5p-35,  -0x1.6a5e07f455d8fp-37, 0x1.5699164a8ec42p-39,  -0x1.a41d9832aabafp-42,
      0x1.e3ceceb001aa6p-46,  0x1.d9c73699b00efp-51,  -0x1.c2ac867e772c0p-53};
  Expr a = absolute(x), z = x * x;
  Expr near = multiply_add(a, polynomial(is_double() ? near_twice : near_single, z), a);
  Expr u = min(number(is_double() ? 6 : 4), a) - number(2);
  Expr far = number(1) - exp(polynomial(is_double() ? far_twice : far_single, u));
  return with_sign_of(select(a < number(1), near, far), x);
}

// x p(x^2) / q(x^2) for |x| < 3.9253, where it reaches 1.
Expr FloatMath::fast_erf(const Expr& x) const {
  static const std::vector<double> p{1.12837911,    0.190604031,    0.0527703054,
                                     0.00377289183, 0.000284833921, 2.0457212e-06};
  static const std::vector<double> q{1, 0.502251148, 0.114186645, 0.0149838999, 0.00116390828, 3.80441015e-05};
  return quotient_up_to_1(x, 3.9253, p, q);
}

// sigmoid x is 1 / (1 + e^-x). Numerator and denominator are multiplied by 2^-lift, so that the denominator is finite
// for the smallest results, which are rounded once. For x > 40 the result is 1.
Expr FloatMath::sigmoid(const Expr& x) const {
  int lift = is_double() ? 512 : 64;
  Expr one = number(std::ldexp(1.0, -lift));
  Expr bounded = min(number(40), max(number(is_double() ? -746 : -104), x));
  auto [shifted, r] = reduce_exp_argument(bounded, -1, bias() - lift);
  Expr power = from_bits(binary(BinaryOp::shl, bits_of(shifted), integer(mantissa_bits())));
  return one / multiply_add(exp_of_reduced(r), power, one);
}

// ---- pow ------------------------------------------------------------------------------------------------------------

// log2(x) as an unevaluated sum of two floats. 2 s is computed with its rounding error, and so is its product with
// log2(e).
FloatMath::Pair FloatMath::log2_pair(const Expr& x) const {
  static const std::vector<double> q{0x1.5555555555555p-1, 0x1.9999999999a50p-2, 0x1.24924924732dap-2,
                                     0x1.c71c7207a72f7p-3, 0x1.745cf66d61583p-3, 0x1.3b1cc031232adp-3,
                                     0x1.0fb0432777d55p-3, 0x1.0c976b3bc9f46p-3};
  auto [m, e] = split(x);
  Expr f = m - number(1), d = m + number(1), d_low = m - (d - number(1));
  Expr s = f / d;
  Expr s_low = multiply_add(-s, d_low, multiply_add(-s, d, f)) / d;
  Expr z = s * s;
  // ln(m) = 2 s + (2 s_low + s^3 q)
  Expr high = s + s, low = multiply_add(s * z, polynomial(q, z), s_low + s_low);
  Expr log2e = number(0x1.71547652b82fep0), log2e_low = number(0x1.777d0ffda0d24p-56);
  Expr product = high * log2e;
  Expr rest = multiply_add(high, log2e, -product) + multiply_add(high, log2e_low, low * log2e);
  // The exponent e is 0 or larger than the product.
  Expr sum = e + product;
  rest = select(equal(e, number(0)), rest, (product - (sum - e)) + rest);
  Expr result = sum + rest;
  return {result, rest - (result - sum)};
}

// log2(x) to 40 bits.
Expr FloatMath::log2(const Expr& x) const {
  static const std::vector<double> q{0x1.5555555566b53p-1, 0x1.999998b88c180p-2, 0x1.2493323241bbbp-2,
                                     0x1.c673eaaf31db9p-3, 0x1.8d10357fb5863p-3};
  auto [m, e] = split(x);
  Expr s = (m - number(1)) / (m + number(1)), z = s * s;
  return multiply_add(multiply_add(s * z, polynomial(q, z), s + s), number(0x1.71547652b82fep0), e);
}

// x^y for x >= 0 (zero and infinity included), y not NaN; to 36 bits unless `precise`.
Expr FloatMath::pow_magnitude(const Expr& x, const Expr& y, bool precise) const {
  Expr infinite = number(std::numeric_limits<double>::infinity());
  Expr high, low;
  if (precise) {
    auto [sum, rest] = log2_pair(x);
    high = sum, low = rest;
  } else {
    high = log2(x);
  }
  high = select(equal(x, number(0)), -infinite, select(equal(x, infinite), infinite, high));
  Expr product = y * high;
  Expr bounded = min(max(product, number(-1100)), number(1100));
  Expr shifted = bounded + number(magic());
  Expr r = bounded - (shifted - number(magic()));
  if (precise) {
    // Out of bounds, the rest is not used and may be NaN.
    Expr rest = multiply_add(y, high, -product) + y * low;
    r = r + select(absolute(product) < number(1100), rest, number(0));
  }
  Expr ln2 = number(0x1.62e42fefa39efp-1);
  return scale(exp_of_reduced(r * ln2), bits_of(shifted) - bits_of(number(magic())));
}

// pow as in IEEE 754: the power of the magnitudes, then the cases of signs, zeros and infinities. float32 is computed
// in float64.
Expr FloatMath::pow(const Expr& x, const Expr& y) const {
  Expr a = absolute(x), one = number(1), zero = number(0);
  Expr infinite = number(std::numeric_limits<double>::infinity()),
       nan = number(std::numeric_limits<double>::quiet_NaN());
  FloatMath wide(dtype::f64, fused_);
  Expr r = cast(type_, wide.pow_magnitude(cast(dtype::f64, a), cast(dtype::f64, y), is_double()));
  auto is_integer = [&](const Expr& v) { return equal(unary(UnaryOp::trunc, v), v); };
  Expr whole = is_integer(y), odd = logical_and(whole, logical_not(is_integer(y * number(0.5))));
  Expr negative = bits_of(x) < integer(0);
  r = select(logical_and(negative, odd), -r, r);
  r = select(logical_and(logical_and(x<zero, x> - infinite), logical_not(whole)), nan, r);
  r = select(logical_and(equal(absolute(y), infinite), equal(a, one)), one, r);
  r = select(logical_or(unary(UnaryOp::is_nan, x), unary(UnaryOp::is_nan, y)), nan, r);
  return select(logical_or(equal(y, zero), equal(x, one)), one, r);
}

// Adding zero makes the root of -0 that of +0, as pow has it.
std::optional<Expr> FloatMath::pow(const Expr& x, double y) const {
  const auto root_of = [&] { return select(equal(x, -infinite()), infinite(), root(x + number(0))); };
  if (y == -1) return number(1) / x;
  if (y == -0.5) return number(1) / root_of();
  if (y == 0.5) return root_of();
  if (y == 1) return x;
  if (y == 2) return x * x;
  if (y == 3) return x * x * x;
  if (y == 4) {
    const Expr square = x * x;
    return square * square;
  }
  return std::nullopt;
}

namespace {

// Integer pow by repeated squaring, one step per bit of the exponent. For a negative exponent: 1 / x^-y, rounded toward
// zero.
Expr integer_pow(const Expr& x, const Expr& y) {
  DType type = x.type();
  Expr zero = literal(type, int64_t{0}), one = literal(type, int64_t{1}), result = one, square = x;
  for (int k = 0; k < bits(type); ++k) {
    Expr bit = binary(BinaryOp::bit_and, binary(BinaryOp::shr, y, literal(type, int64_t{k})), one);
    result = select(equal(bit, zero), result, result * square);
    square = square * square;
  }
  if (!is_signed(type)) return result;
  Expr minus_one = literal(type, int64_t{-1});
  Expr odd = logical_not(equal(binary(BinaryOp::bit_and, y, one), zero));
  Expr reciprocal = select(equal(x, one), one, select(equal(x, minus_one), select(odd, minus_one, one), zero));
  return select(y < zero, reciprocal, result);
}

Expr expand_unary(const FloatMath& math, UnaryOp op, const Expr& x, bool fast, const Expr& unchanged) {
  switch (op) {
    case UnaryOp::exp:
      return math.exp(x);
    case UnaryOp::log:
      return math.log(x);
    case UnaryOp::tanh:
      return fast ? math.fast_tanh(x) : math.tanh(x);
    case UnaryOp::erf:
      return fast ? math.fast_erf(x) : math.erf(x);
    case UnaryOp::sigmoid:
      return math.sigmoid(x);
    case UnaryOp::expm1:
      return math.expm1(x);
    case UnaryOp::log1p:
      return math.log1p(x);
    case UnaryOp::sin:
      return math.sin(x);
    case UnaryOp::cos:
      return math.cos(x);
    case UnaryOp::tan:
      return math.tan(x);
    case UnaryOp::asin:
      return math.asin(x);
    case UnaryOp::acos:
      return math.acos(x);
    case UnaryOp::atan:
      return math.atan(x);
    case UnaryOp::sinh:
      return math.sinh(x);
    case UnaryOp::cosh:
      return math.cosh(x);
    case UnaryOp::asinh:
      return math.asinh(x);
    case UnaryOp::acosh:
      return math.acosh(x);
    case UnaryOp::atanh:
      return math.atanh(x);
    default:
      return unchanged;
  }
}

Expr expand_node(const Expr& e, MathOptions options) {
  const bool expandable = e.type() == dtype::f32 || e.type() == dtype::f64;
  const FloatMath math(e.type(), options.fused);
  if (const Binary* x = as<Binary>(e)) {
    if (x->op == BinaryOp::pow && is_integer(e.type())) return integer_pow(x->a, x->b);
    if (x->op == BinaryOp::pow && expandable) {
      const Literal* exponent = as<Literal>(x->b);
      const auto known = exponent ? math.pow(x->a, exponent->number) : std::nullopt;
      return known ? *known : FloatMath(e.type(), options.fused || e.type() == dtype::f64).pow(x->a, x->b);
    }
    if (x->op == BinaryOp::rem && expandable) return math.remainder(x->a, x->b);
  }
  const Unary* x = as<Unary>(e);
  return x && expandable ? expand_unary(math, x->op, x->a, options.fast && e.type() == dtype::f32, e) : e;
}

}  // namespace

Expr expand_math(const Expr& e, MathOptions options) {
  return rewrite(e, [options](const Expr& x) { return expand_node(x, options); });
}

Stmt expand_math(const Stmt& s, MathOptions options) {
  return rewrite(s, [options](const Expr& x) { return expand_node(x, options); });
}

}  // namespace dlcc::tensor
