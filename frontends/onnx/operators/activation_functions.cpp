// Activation functions as operators.
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// A function of X, with parameters from the node's attributes.
using Function = Value (*)(Node&, const Value& x);

Converter function(Function f) {
  return [f](Node& n) -> Values {
    n.ignore("consumed_inputs");
    return {in_float32(n, n.in(0), [&](const Value& x) { return f(n, x); })};
  };
}

// ---- piecewise functions ------------------------------------------------------------------------------------------

Values convert_leaky_relu(Node& n) {
  n.ignore("consumed_inputs");
  return {n.call("nn.leaky_relu", {n.in(0)}, {{"alpha", n.number("alpha", 0.01f)}})};
}

// Before operator set 7 the slope is one number, or a list with one for each channel.
Values convert_prelu(Node& n) {
  n.ignore("consumed_inputs");
  const Value& x = n.in(0);
  Value slope = n.in(1);
  if (n.opset() < 7) {
    if (product(slope.type.shape) == Dim(1)) {
      slope = n.reshape(slope, {});
    } else if (slope.rank() == 1 && x.rank() > 1) {
      Shape shape(static_cast<size_t>(x.rank()) - 1, Dim(1));
      shape[0] = slope.type.shape[0];
      slope = n.reshape(slope, shape);
    }
  }
  Value negative = n.call("less", {x, constant_like(n, x, 0)});
  return {n.call("where", {negative, multiply(n, x, slope), x})};
}

Values convert_thresholded_relu(Node& n) {
  const Value& x = n.in(0);
  Value above = n.call("greater", {x, constant_like(n, x, n.number("alpha", 1))});
  return {n.call("where", {above, x, constant_like(n, x, 0)})};
}

// x + bias below -lambd, x - bias above lambd, else 0. Integers are computed as float32, or float64 where they have
// more bits.
Values convert_shrink(Node& n) {
  const DType type = n.in(0).type.dtype;
  const double bias = n.number("bias", 0), lambd = n.number("lambd", 0.5f);
  const DType wide = is_float(type) ? type : bits(type) > 16 ? dtype::f64 : dtype::f32;
  const Value x = n.cast(n.in(0), wide);
  Value above = n.call("greater", {x, constant_like(n, x, lambd)});
  Value below = n.call("less", {x, constant_like(n, x, -lambd)});
  Value otherwise = n.call("where", {above, plus(n, x, -bias), constant_like(n, x, 0)});
  return {n.cast(n.call("where", {below, plus(n, x, bias), otherwise}), type)};
}

// min(max(alpha * x + beta, 0), 1)
Value hard_sigmoid(Node& n, const Value& x, double alpha, double beta) {
  return n.call("clip", {plus(n, times(n, x, alpha), beta)}, {{"a_min", 0.0}, {"a_max", 1.0}});
}

Values convert_hard_sigmoid(Node& n) {
  n.ignore("consumed_inputs");
  return {hard_sigmoid(n, n.in(0), n.number("alpha", 0.2f), n.number("beta", 0.5f))};
}

Values convert_hard_swish(Node& n) {
  const Value& x = n.in(0);
  return {multiply(n, x, hard_sigmoid(n, x, 1.0 / 6, 0.5))};
}

// ---- exponential functions ----------------------------------------------------------------------------------------

Value elu_of(Node& n, const Value& x) { return elu(n, x, n.number("alpha", 1)); }

// The defaults of operator set 1 have fewer digits.
Value selu(Node& n, const Value& x) {
  const bool first = n.opset() < 6;
  const double alpha = n.number("alpha", first ? 1.6732f : 1.67326319217681884765625f);
  const double gamma = n.number("gamma", first ? 1.0507f : 1.05070102214813232421875f);
  Value zero = constant_like(n, x, 0);
  Value below = times(n, n.call("expm1", {n.call("minimum", {x, zero})}), alpha * gamma);
  return n.call("where", {n.call("less", {x, zero}), below, times(n, x, gamma)});
}

// max(0, x) + min(0, alpha (e^(x / alpha) - 1)): for a negative alpha both terms count.
Value celu(Node& n, const Value& x) {
  const double alpha = n.number("alpha", 1);
  n.check(alpha != 0, DiagnosticId::bad_attribute, "attribute 'alpha' must not be 0");
  Value zero = constant_like(n, x, 0), scaled = divide(n, x, constant_like(n, x, alpha));
  // Where the function is linear the exponential is of 0.
  if (alpha > 0) scaled = n.call("minimum", {scaled, zero});
  Value below = n.call("minimum", {times(n, n.call("expm1", {scaled}), alpha), zero});
  return add(n, n.call("nn.relu", {x}), below);
}

Value softplus_of(Node& n, const Value& x) { return softplus(n, x); }

Value softsign(Node& n, const Value& x) { return divide(n, x, plus(n, n.call("abs", {x}), 1)); }

// x tanh(log(1 + w)) with w = e^x is x v / (v + 2) with v = w (w + 2); beyond 20 it is x.
Value mish(Node& n, const Value& x) {
  Value w = n.call("exp", {n.call("minimum", {x, constant_like(n, x, 20)})});
  Value v = multiply(n, w, plus(n, w, 2));
  return multiply(n, x, divide(n, v, plus(n, v, 2)));
}

// x sigmoid(alpha x)
Value swish(Node& n, const Value& x) {
  const double alpha = n.number("alpha", 1);
  return multiply(n, x, n.call("sigmoid", {alpha == 1 ? x : times(n, x, alpha)}));
}

// Swish of A, times B.
Values convert_swiglu(Node& n) {
  const DType type = n.in(0).type.dtype;
  return {in_float32(n, n.in(0), [&](const Value& gate) {
    return multiply(n, swish(n, gate), type == gate.type.dtype ? n.in(1) : n.cast(n.in(1), gate.type.dtype));
  })};
}

Value gelu_of_attribute(Node& n, const Value& x) {
  const std::string approximate = n.text("approximate", "none");
  n.check(approximate == "none" || approximate == "tanh", DiagnosticId::bad_attribute,
          fmt::format("attribute 'approximate' is '{}'; it must be 'none' or 'tanh'", approximate));
  return approximate == "tanh" ? gelu_by_tanh(n, x) : gelu(n, x);
}

}  // namespace

void add_activation_functions(Table& table) {
  table.add({
      {"Celu", 12, "X", 1, 1, 1, function(celu), true},
      {"Elu", 1, "X", 1, 1, 1, function(elu_of), true},
      {"Gelu", 20, "X", 1, 1, 1, function(gelu_of_attribute), true},
      {"HardSigmoid", 1, "X", 1, 1, 1, convert_hard_sigmoid, true},
      {"HardSwish", 14, "X", 1, 1, 1, convert_hard_swish, true},
      {"LeakyRelu", 1, "X", 1, 1, 1, convert_leaky_relu, true},
      {"Mish", 18, "X", 1, 1, 1, function(mish), true},
      {"PRelu", 1, "X slope", 2, 2, 1, convert_prelu, true},
      {"Relu", 1, "X", 1, 1, 1, direct("nn.relu"), true},
      {"Selu", 1, "X", 1, 1, 1, function(selu), true},
      {"Shrink", 9, "input", 1, 1, 1, convert_shrink, true},
      {"Sigmoid", 1, "X", 1, 1, 1, direct("sigmoid"), true},
      {"Softplus", 1, "X", 1, 1, 1, function(softplus_of), true},
      {"Softsign", 1, "input", 1, 1, 1, function(softsign), true},
      {"SwiGLU", 28, "A B", 2, 2, 1, convert_swiglu, true},
      {"Swish", 24, "X", 1, 1, 1, function(swish), true},
      {"ThresholdedRelu", 10, "X", 1, 1, 1, convert_thresholded_relu, true},
  });
}

}  // namespace dlcc::frontends::onnx
