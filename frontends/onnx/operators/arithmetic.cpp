#include "frontends/onnx/operators/arithmetic.h"

#include <cmath>
#include <numbers>

namespace dlcc::frontends::onnx {

Value constant_like(Node& n, const Value& like, double number) { return n.scalar(like.type.dtype, number); }

Value add(Node& n, const Value& a, const Value& b) { return n.call("add", {a, b}); }
Value subtract(Node& n, const Value& a, const Value& b) { return n.call("subtract", {a, b}); }
Value multiply(Node& n, const Value& a, const Value& b) { return n.call("multiply", {a, b}); }
Value divide(Node& n, const Value& a, const Value& b) { return n.call("divide", {a, b}); }
Value plus(Node& n, const Value& x, double offset) { return add(n, x, constant_like(n, x, offset)); }
Value times(Node& n, const Value& x, double factor) {
  return factor == 1 ? x : multiply(n, x, constant_like(n, x, factor));
}

Value elu(Node& n, const Value& x, double alpha) {
  Value zero = constant_like(n, x, 0);
  Value below = times(n, n.call("expm1", {n.call("minimum", {x, zero})}), alpha);
  return n.call("where", {n.call("less", {x, zero}), below, x});
}

// max(x, 0) + log(1 + e^-|x|)
Value softplus(Node& n, const Value& x) {
  Value small = n.call("exp", {n.call("negative", {n.call("abs", {x})})});
  return add(n, n.call("nn.relu", {x}), n.call("log1p", {small}));
}

Value gelu(Node& n, const Value& x) {
  const Value gate = n.call("erf", {times(n, x, std::numbers::sqrt2 / 2)});
  return multiply(n, times(n, x, 0.5), plus(n, gate, 1));
}

// x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), which is x sigmoid(2 u).
Value gelu_by_tanh(Node& n, const Value& x) {
  const double factor = 2 * std::sqrt(2 / std::numbers::pi);
  const Value inner = plus(n, times(n, multiply(n, x, x), 0.044715 * factor), factor);
  return multiply(n, x, n.call("sigmoid", {multiply(n, x, inner)}));
}

}  // namespace dlcc::frontends::onnx
