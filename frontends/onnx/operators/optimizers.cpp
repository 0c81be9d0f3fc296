// The optimizers of ai.onnx.preview.training: Adagrad, Adam, Momentum. The inputs are the learning rate R, the number T
// of updates before, and for each of several tensors its value, its gradient and its state, in lists one after another.
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// One tensor: its value, its gradient, then the state.
using Tensors = Values;

// The numbers of the node that all tensors share, as scalars.
struct Step {
  Value rate, count;
};

// The new value and the new state of one tensor.
using Update = Values (*)(Node&, const Step&, const Tensors&);

Value as(Node& n, const Value& x, const Value& like) { return n.cast(x, like.type.dtype); }

// The gradient plus the gradient of the penalty norm_coefficient |X|^2 / 2.
Value regularized(Node& n, const Tensors& t) {
  const double coefficient = n.number("norm_coefficient", 0);
  return coefficient == 0 ? t[1] : add(n, t[1], times(n, t[0], coefficient));
}

// X - R / (1 + T decay) G / (sqrt(H) + epsilon), with H the sum of the squared gradients.
Values adagrad(Node& n, const Step& step, const Tensors& t) {
  const Value& x = t[0];
  const Value gradient = regularized(n, t), sum = add(n, t[2], multiply(n, gradient, gradient));
  const Value slowed = plus(n, times(n, as(n, step.count, x), n.number("decay_factor", 0)), 1);
  const Value rate = divide(n, as(n, step.rate, x), slowed);
  const Value scale = plus(n, n.call("sqrt", {sum}), n.number("epsilon", 1e-6f));
  return {subtract(n, x, divide(n, multiply(n, rate, gradient), scale)), sum};
}

// 1 - base^count, as float64: the difference loses digits.
Value one_minus_power(Node& n, double base, const Value& count) {
  const Value power = n.call("power", {n.scalar(dtype::f64, base), n.cast(count, dtype::f64)});
  return subtract(n, n.scalar(dtype::f64, 1), power);
}

// The moving average: share old + (1 - share) new.
Value moving_average(Node& n, double share, const Value& old, const Value& now) {
  return add(n, times(n, old, share), times(n, now, 1 - share));
}

Values adam(Node& n, const Step& step, const Tensors& t) {
  const double alpha = n.number("alpha", 0.9f), beta = n.number("beta", 0.999f);
  const Value& x = t[0];
  const Value gradient = regularized(n, t), mean = moving_average(n, alpha, t[2], gradient),
              square = moving_average(n, beta, t[3], multiply(n, gradient, gradient));
  const Value correction =
      divide(n, n.call("sqrt", {one_minus_power(n, beta, step.count)}), one_minus_power(n, alpha, step.count));
  const Value first = n.call("less_equal", {step.count, constant_like(n, step.count, 0)});
  const Value factor = n.call("where", {first, n.scalar(dtype::f64, 1), correction});
  const Value rate = as(n, multiply(n, n.cast(step.rate, dtype::f64), factor), x);
  const Value scale = plus(n, n.call("sqrt", {square}), n.number("epsilon", 1e-6f));
  const Value moved = subtract(n, x, multiply(n, rate, divide(n, mean, scale)));
  return {times(n, moved, 1 - n.number("norm_coefficient_post", 0)), mean, square};
}

Values momentum(Node& n, const Step& step, const Tensors& t) {
  const Value& x = t[0];
  const std::string mode = n.text("mode", "");
  n.check(mode == "standard" || mode == "nesterov", DiagnosticId::bad_attribute,
          fmt::format("attribute 'mode' is '{}'; it must be 'standard' or 'nesterov'", mode));
  const double alpha = n.number("alpha", 0), beta = n.number("beta", 0);
  // The first gradient counts fully.
  const Value later = n.call("greater", {step.count, constant_like(n, step.count, 0)});
  const Value share = n.call("where", {later, constant_like(n, x, beta), constant_like(n, x, 1)});
  const Value gradient = regularized(n, t), velocity = add(n, times(n, t[2], alpha), multiply(n, share, gradient));
  const Value direction = mode == "nesterov" ? add(n, gradient, times(n, velocity, alpha)) : velocity;
  return {subtract(n, x, multiply(n, as(n, step.rate, x), direction)), velocity};
}

// `states` is the number of state tensors of each optimized tensor.
Converter optimizer(Update update, int states) {
  return [=](Node& n) -> Values {
    const int lists = states + 2, count = (n.input_count() - 2) / lists;
    if (!n.check(n.input_count() == 2 + count * lists && n.output_count() == count * (states + 1),
                 DiagnosticId::wrong_arity,
                 fmt::format("needs 2 inputs and {} for each optimized tensor, found {}, and {} outputs for each, "
                             "found {}",
                             lists, n.input_count(), states + 1, n.output_count())))
      return {};
    const Step step = {n.reshape(n.in(0), {}), n.reshape(n.in(1), {})};
    std::vector<Values> results(static_cast<size_t>(states) + 1);
    for (int k = 0; k < count; ++k) {
      Tensors tensors;
      for (int list = 0; list < lists; ++list) tensors.push_back(n.in(2 + list * count + k));
      const Values updated = update(n, step, tensors);
      for (size_t r = 0; r < results.size(); ++r) results[r].push_back(updated[r]);
    }
    Values all;
    for (const Values& list : results) all.insert(all.end(), list.begin(), list.end());
    return all;
  };
}

}  // namespace

void add_optimizers(Table& table) {
  table.add({
      {"ai.onnx.preview.training.Adagrad", 1, "R T inputs", 3, any_number, any_number, optimizer(adagrad, 1)},
      {"ai.onnx.preview.training.Adam", 1, "R T inputs", 3, any_number, any_number, optimizer(adam, 2)},
      {"ai.onnx.preview.training.Momentum", 1, "R T inputs", 3, any_number, any_number, optimizer(momentum, 1)},
  });
}

}  // namespace dlcc::frontends::onnx
