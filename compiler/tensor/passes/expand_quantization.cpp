#include "tensor/passes/expand_quantization.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "tensor/builder.h"
#include "tensor/quantization.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

namespace {

// (x * factor) * (high + low) is near x / scale. High and low have the same sign, so that infinities and overflow give
// no NaN. The factor is a power of two: it is 1 unless the reciprocal of the scale would be near the limits of float32.
struct Reciprocal {
  float factor = 1, high, low;

  explicit Reciprocal(float scale) {
    constexpr int moderate = 100, largest = 126;
    if (const int exponent = std::ilogb(scale); std::abs(exponent) > moderate)
      factor = std::ldexp(1.0F, -std::clamp(exponent, -largest, largest));
    const double divisor = static_cast<double>(scale) * factor, exact = 1.0 / divisor;
    high = static_cast<float>(exact);
    if (high > exact) high = std::nextafter(high, 0.0F);
    low = static_cast<float>(-std::fma(static_cast<double>(high), divisor, -1.0) / divisor);
  }

  float times(float x) const {
    x *= factor;
    return low == 0 ? x * high : std::fma(x, high, x * low);
  }
};

// Whether the quotient and the product with the reciprocal are rounded to the same integers between these two. Both
// grow with x and differ from the exact quotient by less than one unit in the last place. So each of them passes the
// tie k + 1/2 within a few neighbours of the number (k + 1/2) * scale; where the roundings of these neighbours agree,
// those of all other numbers do.
bool gives_equal_integers(const Reciprocal& r, float scale, int64_t first, int64_t last) {
  constexpr int neighbours = 4;
  for (int64_t k = first; k <= last; ++k) {
    float x = static_cast<float>((static_cast<double>(k) + 0.5) * scale);
    for (int n = 0; n < neighbours; ++n) x = std::nextafter(x, -INFINITY);
    for (int n = -neighbours; n <= neighbours; ++n, x = std::nextafter(x, INFINITY))
      if (std::nearbyint(x / scale) != std::nearbyint(r.times(x))) return false;
  }
  return true;
}

class Expander {
 public:
  Expr operator()(const Expr& e) {
    const Cast* conversion = as<Cast>(e);
    if (!conversion) return e;
    if (e.type() == dtype::f32) return dequantized(e, *conversion);
    const auto q = as_quantization(*conversion, e.type());
    const Binary* quotient = q ? as<Binary>(q->value) : nullptr;
    const Literal* scale = quotient && quotient->op == BinaryOp::div ? as<Literal>(quotient->b) : nullptr;
    if (!scale || !(scale->number >= 0x1p-126 && scale->number <= 0x1p127)) return e;
    const Reciprocal r(static_cast<float>(scale->number));
    if (!is_exact(r, static_cast<float>(scale->number), q->zero, e.type())) return e;
    const Expr x = r.factor == 1 ? quotient->a : quotient->a * number(r.factor), high = number(r.high);
    const Expr rounded = round_even(r.low == 0 ? x * high : fma(x, high, x * number(r.low)));
    return cast(e.type(), q->zero == 0 ? rounded : rounded + number(static_cast<float>(q->zero)));
  }

 private:
  // A quantized number minus a zero point, as float32: it stays in registers for floats. NaN is quantized to 0.
  static Expr dequantized(const Expr& e, const Cast& conversion) {
    const Binary* difference = as<Binary>(conversion.a);
    const Literal* zero = difference && difference->op == BinaryOp::sub ? as<Literal>(difference->b) : nullptr;
    const Expr& wide = zero ? difference->a : conversion.a;
    const Cast* widening = wide.type() == dtype::i32 ? as<Cast>(wide) : nullptr;
    const Cast* narrowing = widening ? as<Cast>(widening->a) : nullptr;
    const DType type = widening ? widening->a.type() : dtype::i32;
    const auto q = narrowing ? as_quantization(*narrowing, type) : std::nullopt;
    if (!q) return e;
    const IntegerLimits limits = integer_limits(type);
    Expr x = round_even(q->value);
    const Expr least = number(static_cast<float>(limits.low - q->zero)),
               most = number(static_cast<float>(limits.high - q->zero));
    if (is_signed(type)) x = select(equal(x, x), x, number(static_cast<float>(-q->zero)));
    x = select(x > least, x, least);
    x = select(x < most, x, most);
    // An integer is no negative zero: neither is its sum with 0.
    return x + number(static_cast<float>(q->zero - (zero ? zero->integer : 0)));
  }

  static Expr number(float value) { return literal(dtype::f32, static_cast<double>(value)); }

  bool is_exact(const Reciprocal& r, float scale, int64_t zero, DType type) {
    const auto [low, high] = integer_limits(type);
    auto [known, is_new] = exact_.emplace(std::tuple(scale, zero, type), false);
    if (is_new) known->second = gives_equal_integers(r, scale, low - zero - 1, high - zero);
    return known->second;
  }

  std::map<std::tuple<float, int64_t, DType>, bool> exact_;
};

}  // namespace

Stmt expand_quantization(const Stmt& s) {
  Expander expander;
  return rewrite(s, [&](const Expr& e) { return expander(e); });
}

}  // namespace dlcc::tensor
