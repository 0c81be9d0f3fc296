#include "relay/op_support/resampling.h"

namespace dlcc::relay {

Expr linear_weight(Expr distance) {
  DType type = distance.type();
  return max(number(type, 1) - abs(distance), number(type, 0));
}

Expr cubic_weight(Expr distance, double alpha) {
  DType type = distance.type();
  auto c = [&](double value) { return number(type, value); };
  Expr t = abs(distance);
  Expr near = (c(alpha + 2) * t - c(alpha + 3)) * t * t + c(1);
  Expr far = ((c(alpha) * t - c(5 * alpha)) * t + c(8 * alpha)) * t - c(4 * alpha);
  return select(t <= c(1), near, select(t < c(2), far, c(0)));
}

DType sampling_type(DType data) { return data == dtype::f64 ? data : dtype::f32; }

Expr nearest_index(Expr position, Expr extent) {
  return max(min(cast(dtype::i64, position), extent - Expr(1)), Expr(0));
}

}  // namespace dlcc::relay
