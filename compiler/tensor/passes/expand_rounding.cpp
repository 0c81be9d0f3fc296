#include "tensor/passes/expand_rounding.h"

#include "tensor/builder.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class Rounding {
 public:
  explicit Rounding(Expr x)
      : x_(std::move(x)), type_(x_.type()), integer_(type_ == dtype::f64 ? dtype::i64 : dtype::i32) {
    const Expr whole = cast(type_, cast(integer_, x_));
    truncated_ = select(equal(whole, number(0)), x_ * number(0), whole);  // with the sign of a zero
  }

  // Numbers of magnitude 2^23 (float32) or 2^52 (float64) and more, infinities and NaN are returned unchanged.
  Expr result(UnaryOp op) const {
    const Expr has_fraction = abs(x_) < number(type_ == dtype::f64 ? 0x1p52 : 0x1p23);
    return select(has_fraction, rounded(op), x_);
  }

 private:
  Expr number(double value) const { return literal(type_, value); }

  Expr rounded(UnaryOp op) const {
    const Expr& t = truncated_;
    if (op == UnaryOp::floor) return select(t > x_, t - number(1), t);
    if (op == UnaryOp::ceil) return select(t < x_, t + number(1), t);
    if (op == UnaryOp::trunc) return t;
    const Expr rest = abs(x_ - t), half = number(0.5), away = select(x_ < number(0), number(-1), number(1));
    const Expr is_odd =
        equal(floor_mod(cast(integer_, t), literal(integer_, int64_t{2})), literal(integer_, int64_t{1}));
    return select(logical_or(rest > half, logical_and(equal(rest, half), is_odd)), t + away, t);
  }

  Expr x_;
  DType type_;
  DType integer_;  // holds the numbers that have a fraction; without instructions for int64, float32 needs no function
  Expr truncated_;
};

}  // namespace

Expr expand_rounding(const Expr& e) {
  return rewrite(e, [](const Expr& part) {
    const Unary* x = as<Unary>(part);
    const bool rounds = x && (x->op == UnaryOp::floor || x->op == UnaryOp::ceil || x->op == UnaryOp::trunc ||
                              x->op == UnaryOp::round_even);
    const bool expands = rounds && (part.type() == dtype::f32 || part.type() == dtype::f64);
    return expands ? Rounding(x->a).result(x->op) : part;
  });
}

}  // namespace dlcc::tensor
