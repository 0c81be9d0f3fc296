// Sine, cosine, tangent and their inverses. Polynomials are minimax approximations (Remez).
#include <cmath>
#include <limits>

#include "tensor/passes/float_math.h"

namespace dlcc::tensor {
namespace {

// ---- reduction modulo pi/2 ------------------------------------------------------------------------------------------
//
// The magnitude of an argument is multiplied by the significant bits of 2/pi (Payne and Hanek, "Radian Reduction for
// Trigonometric Functions", 1983). Bits before these contribute multiples of 4 quadrants, bits after them less than the
// precision of the result.

Expr word(int64_t v) { return literal(dtype::u64, v); }
Expr number64(double v) { return literal(dtype::f64, v); }
Expr shl(const Expr& a, const Expr& b) { return binary(BinaryOp::shl, a, b); }
Expr shr(const Expr& a, const Expr& b) { return binary(BinaryOp::shr, a, b); }
Expr low_half(const Expr& a) { return binary(BinaryOp::bit_and, a, word(0xFFFFFFFF)); }
Expr high_half(const Expr& a) { return shr(a, word(32)); }

// A reduced argument high + low, in [-pi/4, pi/4], and the quadrant modulo 4.
struct Reduced {
  Expr high, low, quadrant;
};

// float32; the result's low part is 0.
Reduced reduce_single(const Expr& x) {
  // The bits of 2/pi after 32 zeros, so that small exponents need no negative shift.
  static constexpr int64_t words[] = {0,          0xA2F9836E, 0x4E441529, 0xFC2757D1,
                                      0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB};
  Expr raw = cast(dtype::i64, bitcast(dtype::i32, x));
  Expr exponent = binary(BinaryOp::bit_and, shr(raw, Expr(23)), Expr(255));
  Expr mantissa =
      cast(dtype::u64, binary(BinaryOp::bit_or, binary(BinaryOp::bit_and, raw, Expr(0x7FFFFF)), Expr(0x800000)));
  // |x| = mantissa * 2^(e - 23). Bits of 2/pi before the (e - 24)th contribute multiples of 4; they and the zeros are
  // skipped.
  Expr first = max(exponent - Expr(127), Expr(-1)) + Expr(7);
  Expr at = shr(first, Expr(5)), shift = cast(dtype::u64, binary(BinaryOp::bit_and, first, Expr(31)));
  auto pick = [&](int k) {
    Expr w = word(words[k]);
    for (int i = 1; i <= 4; ++i) w = select(equal(at, Expr(i)), word(words[k + i]), w);
    return w;
  };
  // The next 96 bits of 2/pi. Their product with the mantissa, in units of 2^-62 quadrants and modulo 2^64, has the
  // quadrant in its top two bits.
  Expr w0 = pick(0), w1 = pick(1), w2 = pick(2), w3 = pick(3);
  Expr top = binary(BinaryOp::bit_or, shl(w0, word(32)), w1), next = binary(BinaryOp::bit_or, shl(w2, word(32)), w3);
  Expr window = binary(BinaryOp::bit_or, shl(top, shift), high_half(shl(w2, shift)));
  Expr product = mantissa * window + high_half(mantissa * high_half(shl(next, shift)));
  Expr quadrant = shr(product + word(int64_t{1} << 61), word(62));
  Expr fraction = bitcast(dtype::i64, product - shl(quadrant, word(62)));
  Expr reduced = cast(dtype::f64, fraction) * number64(0x1.921fb54442d18p-62);
  Expr magnitude = cast(dtype::f64, unary(UnaryOp::abs, x)), small = magnitude < number64(0.5);
  return {select(small, magnitude, reduced), number64(0), select(small, Expr(0), cast(dtype::i64, quadrant))};
}

// The upper 64 bits of the product of two 64-bit numbers.
Expr high_product(const Expr& a, const Expr& b) {
  Expr a0 = low_half(a), a1 = high_half(a), b0 = low_half(b), b1 = high_half(b);
  Expr middle = a0 * b1 + high_half(a0 * b0);
  return a1 * b1 + high_half(middle) + high_half(a1 * b0 + low_half(middle));
}

// Four consecutive 64-bit words of the bits of 2/pi after 64 zeros, from word `at` on, 0 <= at <= 16: for each bit of
// `at` the list is shifted or not.
std::vector<Expr> words_of_two_over_pi(const Expr& at) {
  static constexpr uint64_t words[] = {0,
                                       0xA2F9836E4E441529,
                                       0xFC2757D1F534DDC0,
                                       0xDB6295993C439041,
                                       0xFE5163ABDEBBC561,
                                       0xB7246E3A424DD2E0,
                                       0x06492EEA09D1921C,
                                       0xFE1DEB1CB129A73E,
                                       0xE88235F52EBB4484,
                                       0xE99C7026B45F7E41,
                                       0x3991D639835339F4,
                                       0x9C845F8BBDF9283B,
                                       0x1FF897FFDE05980F,
                                       0xEF2F118B5A0A6D1F,
                                       0x6D367ECF27CB09B7,
                                       0x4F463F669E5FEA2D,
                                       0x7527BAC7EBE5F17B,
                                       0x3D0739F78A5292EA,
                                       0x6BFB5FB11F8D5D08,
                                       0x56033046FC7B6BAB};
  std::vector<Expr> list;
  for (uint64_t w : words) list.push_back(word(static_cast<int64_t>(w)));
  for (size_t step : {16, 8, 4, 2, 1}) {
    Expr shifts = binary(BinaryOp::ne, binary(BinaryOp::bit_and, at, Expr(static_cast<int64_t>(step))), Expr(0));
    for (size_t k = 0; k < 3 + step; ++k)
      if (k + step < list.size()) list[k] = select(shifts, list[k + step], list[k]);
    list.resize(3 + step);
  }
  return list;
}

// The product of a number below 1 in units of 2^-126, `high` 2^64 + `low`, with pi/2, as a sum of two float64.
Reduced times_half_pi(const Expr& high, const Expr& low) {
  auto part = [](const Expr& half, double unit) { return cast(dtype::f64, half) * number64(unit); };
  Expr f0 = part(high_half(high), 0x1p-30), f1 = part(low_half(high), 0x1p-62), f2 = part(high_half(low), 0x1p-94),
       f3 = part(low_half(low), 0x1p-126);
  Expr sum = f0 + f1, rest = (f1 - (sum - f0)) + f2;
  Expr turns = sum + rest, turns_low = (rest - (turns - sum)) + f3;
  Expr half_pi = number64(0x1.921fb54442d18p0), half_pi_low = number64(0x1.1a62633145c07p-54);
  Expr product = turns * half_pi;
  Expr error = fma(turns, half_pi, -product);
  return {product, error + fma(turns, half_pi_low, turns_low * half_pi), {}};
}

// float64, with 192 bits of 2/pi: some float64 is as near as 2^-61 to a multiple of pi/2.
Reduced reduce_double(const Expr& x) {
  Expr raw = bitcast(dtype::i64, x);
  Expr exponent = binary(BinaryOp::bit_and, shr(raw, Expr(52)), Expr(2047));
  constexpr int64_t hidden = int64_t{1} << 52;
  Expr mantissa =
      cast(dtype::u64, binary(BinaryOp::bit_or, binary(BinaryOp::bit_and, raw, Expr(hidden - 1)), Expr(hidden)));
  // |x| = mantissa * 2^(e - 1075). Bits of 2/pi before the (e - 1076)th contribute multiples of 4.
  Expr first = min(max(exponent - Expr(1013), Expr(0)), Expr(1033));
  std::vector<Expr> w = words_of_two_over_pi(shr(first, Expr(6)));
  Expr shift = cast(dtype::u64, binary(BinaryOp::bit_and, first, Expr(63)));
  auto window = [&](int k) { return binary(BinaryOp::bit_or, shl(w[k], shift), shr(w[k + 1], word(64) - shift)); };
  // The product's upper 128 bits, in units of 2^-126 quadrants, have the quadrant in their top two bits.
  Expr carried = high_product(mantissa, window(2)), low = mantissa * window(1) + carried;
  Expr high = mantissa * window(0) + high_product(mantissa, window(1)) + select(low < carried, word(1), word(0));
  Expr quadrant = shr(high + word(int64_t{1} << 61), word(62));
  Expr fraction = high - shl(quadrant, word(62));
  Expr negative = bitcast(dtype::i64, fraction) < Expr(0);
  auto magnitude_of = [&](const Expr& v) { return select(negative, unary(UnaryOp::bit_not, v), v); };
  Reduced r = times_half_pi(magnitude_of(fraction), magnitude_of(low));
  Expr magnitude = unary(UnaryOp::abs, x), small = magnitude < number64(0.5);
  auto with_sign = [&](const Expr& v) { return select(negative, -v, v); };
  return {select(small, magnitude, with_sign(r.high)), select(small, number64(0), with_sign(r.low)),
          select(small, Expr(0), cast(dtype::i64, quadrant))};
}

Expr is_set(const Expr& n, int64_t bit) {
  return binary(BinaryOp::ne, binary(BinaryOp::bit_and, n, Expr(bit)), Expr(0));
}

}  // namespace

// ---- sine, cosine, tangent ------------------------------------------------------------------------------------------

FloatMath::ReducedAngle FloatMath::reduce_angle(const Expr& x) const {
  static const std::vector<double> sin_terms{-0x1.5555555555555p-3, 0x1.1111111110bb3p-7,   -0x1.a01a019e83c19p-13,
                                             0x1.71de37969e5cep-19, -0x1.ae600b107c483p-26, 0x1.5e0b1cce6e9f5p-33};
  static const std::vector<double> cos_terms{0x1.5555555555555p-5,   -0x1.6c16c16c16967p-10, 0x1.a01a019f4eb84p-16,
                                             -0x1.27e4fa17e0a5fp-22, 0x1.1eeb68ecd6580p-29,  -0x1.907da41c4466ep-37};
  FloatMath wide(dtype::f64, fused_);
  Reduced t = is_double() ? reduce_double(x) : reduce_single(x);
  Expr r = t.high, z = r * r, half = z * wide.number(0.5), w = wide.number(1) - half;
  // sin r = r + r^3 p(r^2), cos r = 1 - r^2/2 + r^4 q(r^2); the low part adds low cos r and -low sin r.
  Expr sine_tail = r * z * wide.polynomial(sin_terms, z);
  Expr cosine_tail = wide.multiply_add(z * z, wide.polynomial(cos_terms, z), (wide.number(1) - w) - half);
  if (is_double()) {
    sine_tail = wide.multiply_add(t.low, w, sine_tail);
    cosine_tail = wide.multiply_add(-t.low, r, cosine_tail);
  }
  return {t.quadrant, r + sine_tail, w + cosine_tail};
}

Expr FloatMath::sine(const Expr& x, bool cosine) const {
  ReducedAngle t = reduce_angle(x);
  Expr turned = cosine ? t.quadrant + Expr(1) : t.quadrant;
  Expr value = select(is_set(turned, 1), t.cosine, t.sine), minus = is_set(turned, 2);
  // sin is odd: the sign of x is applied. cos is even.
  if (!cosine) minus = binary(BinaryOp::logical_xor, minus, bits_of(x) < integer(0));
  Expr result = cast(type_, select(minus, -value, value));
  if (!cosine) result = select(equal(x, number(0)), x, result);
  return select(absolute(x) < infinite(), result, nan());
}

Expr FloatMath::sin(const Expr& x) const { return sine(x, false); }
Expr FloatMath::cos(const Expr& x) const { return sine(x, true); }

// In odd quadrants the tangent is -cos / sin of the rest.
Expr FloatMath::tan(const Expr& x) const {
  ReducedAngle t = reduce_angle(x);
  Expr odd = is_set(t.quadrant, 1);
  Expr value = select(odd, -t.cosine, t.sine) / select(odd, t.sine, t.cosine);
  Expr result = cast(type_, select(bits_of(x) < integer(0), -value, value));
  result = select(equal(x, number(0)), x, result);
  return select(absolute(x) < infinite(), result, nan());
}

// ---- inverses -------------------------------------------------------------------------------------------------------

// A multiple of pi rounded to the format, or the part that rounding loses.
Expr FloatMath::pi_part(double multiple, bool low) const {
  if (is_double()) return number(multiple * (low ? 0x1.1a62633145c07p-53 : 0x1.921fb54442d18p1));
  return number(multiple * (low ? -0x1.777a5cp-24 : 0x1.921fb6p1));
}

// Beyond 1/2, asin a = pi/2 - 2 asin(sqrt((1 - a) / 2)). asin s = s + s^3 p(s^2).
FloatMath::ArcSine FloatMath::arc_sine(const Expr& x) const {
  static const std::vector<double> single{0.166666622,  0.0750042908, 0.0445236161,
                                          0.0317995068, 0.0143350536, 0.0378063612};
  static const std::vector<double> twice{
      0x1.5555555555562p-3, 0x1.333333333079ap-4,  0x1.6db6db7091f22p-5, 0x1.f1c71b0c7918ep-6, 0x1.6e8bd421b62dbp-6,
      0x1.1c4a8acfaa21cp-6, 0x1.ca144d7371c20p-7,  0x1.75ca24a54bcb4p-7, 0x1.60314983130a4p-7, 0x1.ef8aea898d811p-9,
      0x1.62626751beef6p-6, -0x1.5866d3fc7ac46p-6, 0x1.0c02a4a10b503p-5};
  Expr a = absolute(x), beyond_half = a > number(0.5);
  Expr z = select(beyond_half, (number(1) - a) * number(0.5), a * a), s = select(beyond_half, root(z), a);
  return {beyond_half, s, s * z * polynomial(is_double() ? twice : single, z)};
}

Expr FloatMath::asin(const Expr& x) const {
  auto [beyond_half, s, tail] = arc_sine(x);
  Expr two = number(2);
  Expr far = (pi_part(0.5, false) - two * s) - (two * tail - pi_part(0.5, true));
  return with_sign_of(select(beyond_half, far, s + tail), x);
}

// acos x = pi/2 - asin x; beyond 1/2 it is 2 asin(sqrt((1 - x) / 2)), below -1/2 pi - 2 asin(sqrt((1 + x) / 2)).
Expr FloatMath::acos(const Expr& x) const {
  auto [beyond_half, s, tail] = arc_sine(x);
  Expr negative = x < number(0), two = number(2);
  Expr signed_s = select(negative, -s, s), signed_tail = select(negative, -tail, tail);
  Expr near = (pi_part(0.5, false) - signed_s) - (signed_tail - pi_part(0.5, true));
  Expr far = select(negative, (pi_part(1, false) - two * s) - (two * tail - pi_part(1, true)), two * s + two * tail);
  return select(beyond_half, far, near);
}

// atan a is pi/2 + atan(-1 / a) beyond tan(3 pi/8), pi/4 + atan((a - 1) / (a + 1)) beyond tan(pi/8); atan u = u + u^3
// p(u^2).
Expr FloatMath::atan(const Expr& x) const {
  static const std::vector<double> single{-0.333329835, 0.199772775, -0.138625786, 0.0798496295};
  static const std::vector<double> twice{-0x1.555555555554ap-2, 0x1.9999999996e68p-3,  -0x1.24924923155c4p-3,
                                         0x1.c71c710391738p-4,  -0x1.745cfb2507641p-4, 0x1.3b113287f1e55p-4,
                                         -0x1.10ec495fac1abp-4, 0x1.df10b3abb2e77p-5,  -0x1.9cbf30022aacdp-5,
                                         0x1.376c76755e4c3p-5,  -0x1.241d050f93517p-6};
  Expr a = absolute(x), one = number(1), zero = number(0);
  Expr far = a > number(2.414213562373095), middle = a > number(0.4142135623730950);
  Expr u = select(far, -one, select(middle, a - one, a)) / select(far, a, select(middle, a + one, one));
  Expr base = select(far, pi_part(0.5, false), select(middle, pi_part(0.25, false), zero));
  Expr base_low = select(far, pi_part(0.5, true), select(middle, pi_part(0.25, true), zero));
  Expr z = u * u;
  Expr tail = multiply_add(u * z, polynomial(is_double() ? twice : single, z), base_low);
  return with_sign_of(base + (u + tail), x);
}

}  // namespace dlcc::tensor
