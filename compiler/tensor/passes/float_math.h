// Functions of real numbers as arithmetic on one float format, for expand_math. Each expansion is in the file of its
// family: expand_math.cpp, expand_trigonometry.cpp, expand_hyperbolic.cpp, expand_remainder.cpp.
#pragma once

#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Arithmetic on float32 or float64, and the constants of that format.
class FloatMath {
 public:
  FloatMath(DType type, bool fused) : type_(type), bits_(type == dtype::f64 ? dtype::i64 : dtype::i32), fused_(fused) {}

  Expr exp(const Expr& x) const;
  Expr expm1(const Expr& x) const;
  Expr log(const Expr& x) const;
  Expr log1p(const Expr& x) const;
  Expr tanh(const Expr& x) const;
  Expr fast_tanh(const Expr& x) const;  // of float32
  Expr erf(const Expr& x) const;
  Expr fast_erf(const Expr& x) const;  // of float32
  Expr sigmoid(const Expr& x) const;
  Expr pow(const Expr& x, const Expr& y) const;
  std::optional<Expr> pow(const Expr& x, double y) const;  // for exponents with a short formula
  Expr remainder(const Expr& x, const Expr& y) const;      // rounded toward zero, as C's fmod

  Expr sin(const Expr& x) const;
  Expr cos(const Expr& x) const;
  Expr tan(const Expr& x) const;
  Expr asin(const Expr& x) const;
  Expr acos(const Expr& x) const;
  Expr atan(const Expr& x) const;

  Expr sinh(const Expr& x) const;
  Expr cosh(const Expr& x) const;
  Expr asinh(const Expr& x) const;
  Expr acosh(const Expr& x) const;
  Expr atanh(const Expr& x) const;

 private:
  struct Bounds {
    double low, high;
  };
  struct Split {  // x = mantissa * 2^exponent, mantissa in [sqrt(1/2), sqrt(2))
    Expr mantissa, exponent;
  };
  // The reduced argument of exp: +-x = n ln 2 + rest. The low bits of `shifted` are those of the integer n + offset.
  struct ExpReduction {
    Expr shifted, rest;
  };
  struct Pair {  // an unevaluated sum
    Expr high, low;
  };
  // |x| = (quadrant + 4 k) pi/2 + rest for an integer k; sine and cosine are those of the rest, as float64.
  struct ReducedAngle {
    Expr quadrant, sine, cosine;
  };
  struct ArcSine {  // asin(|x|) = root + tail if |x| <= 1/2, else pi/2 - 2 (root + tail)
    Expr beyond_half, root, tail;
  };

  bool is_double() const { return type_ == dtype::f64; }
  Expr number(double v) const { return literal(type_, v); }
  Expr integer(int64_t v) const { return literal(bits_, v); }
  Expr nan() const;
  Expr infinite() const;
  int mantissa_bits() const { return is_double() ? 52 : 23; }
  int64_t bias() const { return is_double() ? 1023 : 127; }
  double magic() const { return is_double() ? 0x1.8p52 : 0x1.8p23; }  // x + magic - magic is x rounded to an integer
  Expr bits_of(const Expr& x) const { return bitcast(bits_, x); }
  Expr from_bits(const Expr& b) const { return bitcast(type_, b); }
  Expr multiply_add(const Expr& a, const Expr& b, const Expr& c) const { return fused_ ? fma(a, b, c) : a * b + c; }
  Expr polynomial(const std::vector<double>& coefficients, const Expr& x) const;
  Expr quotient_up_to_1(const Expr& x, double bound, const std::vector<double>& p, const std::vector<double>& q) const;
  Expr absolute(const Expr& x) const { return unary(UnaryOp::abs, x); }
  Expr root(const Expr& x) const { return unary(UnaryOp::sqrt, x); }
  Expr with_sign_of(const Expr& magnitude, const Expr& sign) const;
  Expr power_of_two(const Expr& n) const;
  Expr scale(const Expr& x, const Expr& exponent) const;
  static Bounds literal_bounds(const Expr& x);
  ExpReduction reduce_exp_argument(const Expr& x, int sign = 1, int64_t offset = 0) const;
  Expr exp_slope(const Expr& r) const;
  Expr exp_of_reduced(const Expr& r) const;
  Expr half_exp(const Expr& x) const;
  Split split(const Expr& x) const;
  Expr log_of(const Expr& f, const Expr& e, const Expr& correction = {}) const;
  Expr select_log(const Expr& x, const Expr& finite) const;
  Expr pow_magnitude(const Expr& x, const Expr& y, bool precise) const;
  Expr log2(const Expr& x) const;
  Pair log2_pair(const Expr& x) const;
  ReducedAngle reduce_angle(const Expr& x) const;
  Expr sine(const Expr& x, bool cosine) const;
  Expr pi_part(double multiple, bool low) const;
  ArcSine arc_sine(const Expr& x) const;

  DType type_, bits_;
  bool fused_;
};

}  // namespace dlcc::tensor
