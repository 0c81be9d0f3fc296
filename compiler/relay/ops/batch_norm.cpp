// nn.batch_norm: normalizes with given statistics, as at inference. The moving statistics are returned unchanged.
#include "relay/attr_structs.h"
#include "relay/call_gradient.h"
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

constexpr const char* argument_names[] = {"data", "gamma", "beta", "moving_mean", "moving_var"};

TypeResult type_of_batch_norm(const BatchNormAttrs& a, const Operands& in) {
  int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::real), check_axis("axis", a.axis, rank)})) return *e;
  const Dim& channels = in[0].shape[wrap_axis(a.axis, rank)];
  for (int k = 1; k < 5; ++k) {
    const char* what = argument_names[k];
    if (auto e = first_of({check_type(in[k], what, types::real), check_rank(in[k], what, 1)})) return *e;
    if (auto e = check_equal(in[k].shape[0], fmt::format("the length of {}", what), channels, "the number of channels"))
      return *e;
  }
  return tuple_type({tensor_type(in[0].shape, in[0].dtype), tensor_type(in[3].shape, in[3].dtype),
                     tensor_type(in[4].shape, in[4].dtype)});
}

TensorFunction define_batch_norm(const BatchNormAttrs& a, const Operands& in) {
  Definition d("nn.batch_norm");
  std::vector<Tensor> t;
  for (int k = 0; k < 5; ++k) t.push_back(d.input(argument_names[k], in[k].dtype, in[k].shape));
  const Tensor& x = t[0];
  DType type = dtype::f32;
  for (const Tensor& operand : t)
    if (operand.type() == dtype::f64) type = dtype::f64;
  int axis = wrap_axis(a.axis, x.rank());
  d.result("result", x.type(), x.shape(), [&](Index i) {
    auto channel = [&](int k) { return cast(type, t[k](i[axis])); };
    Expr y = (cast(type, x(i)) - channel(3)) / sqrt(channel(4) + number(type, a.epsilon));
    if (a.scale) y = y * channel(1);
    return a.center ? y + channel(2) : y;
  });
  d.result("mean", t[3].type(), t[3].shape(), [&](Index i) { return stored(t[3], i); });
  d.result("var", t[4].type(), t[4].shape(), [&](Index i) { return stored(t[4], i); });
  return d.finish();
}

void gradient_of_batch_norm(const BatchNormAttrs& a, CallGradient& g) {
  g.add_through([&]() -> std::vector<Term> {
    const DType type = tensor::compute_type(g.operand(0).dtype());
    const Term x = g.operand(0).cast_to(type), mean = g.operand(3), variance = g.operand(4);
    Shape shape(static_cast<size_t>(x.rank()), Dim(1));
    const int axis = wrap_axis(a.axis, x.rank());
    shape[static_cast<size_t>(axis)] = x.shape()[static_cast<size_t>(axis)];
    auto channels = [&](const Term& t) { return t.cast_to(type).reshaped(shape); };
    Term y = (x - channels(mean)) * (channels(variance) + a.epsilon).map("rsqrt");
    if (a.scale) y = y * channels(g.operand(1));
    if (a.center) y = y + channels(g.operand(2));
    return {y.cast_to(g.operand(0).dtype()), mean, variance};
  });
}

}  // namespace

void batch_norm(OperatorTable& table) {
  table.add<BatchNormAttrs>({
      .name = "nn.batch_norm",
      .summary = "(data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta, and the two moving statistics",
      .attributes = {{"axis", &BatchNormAttrs::axis, "the axis of channels; negative counts from the last"},
                     {"epsilon", &BatchNormAttrs::epsilon, "added to the variance"},
                     {"center", &BatchNormAttrs::center, "add beta"},
                     {"scale", &BatchNormAttrs::scale, "multiply with gamma"}},
      .arguments = std::vector<std::string>(std::begin(argument_names), std::end(argument_names)),
      .type = type_of_batch_norm,
      .compute = define_batch_norm,
      .gradient = gradient_of_batch_norm,
      .tolerance = 1e-6,
  });
}

}  // namespace dlcc::relay::ops
