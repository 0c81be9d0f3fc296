// nn.lrn: local response normalization, over neighbouring positions of one axis.
#include "relay/call_gradient.h"
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct LrnAttrs {
  int64_t size = 5, axis = 1;
  double bias = 2, alpha = 1e-4, beta = 0.75;
};

TypeResult type_of_lrn(const LrnAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of(
          {check_type(in[0], "data", types::real), check_axis("axis", a.axis, rank), check_positive("size", {a.size})}))
    return *e;
  if (a.size > INT32_MAX) return attribute_error(fmt::format("size must be at most {}, found {}", INT32_MAX, a.size));
  return tensor_result(in[0].shape, in[0].dtype);
}

TensorFunction define_lrn(const LrnAttrs& a, const Operands& in) {
  Definition d("nn.lrn");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const DType type = tensor::compute_type(x.type());
  const int axis = wrap_axis(a.axis, x.rank());
  Tensor squares = d.reduce("squares", x.shape(), tensor::sum_of(type), {a.size}, [&](Index i, Index r) {
    std::vector<Expr> at = i;
    at[axis] = at[axis] + r[0] - Expr((a.size - 1) / 2);
    Expr value = x.at_or(at, number(type, 0));
    return value * value;
  });
  d.result("result", x.type(), x.shape(), [&](Index i) {
    Expr mean = squares(i) * number(type, a.alpha / static_cast<double>(a.size));
    return x(i) / pow(mean + number(type, a.bias), number(type, a.beta));
  });
  return d.finish();
}

void gradient_of_lrn(const LrnAttrs& a, CallGradient& g) {
  if (a.size > 64) g.refuse(fmt::format("it has {} neighbours", a.size), "at most 64 are supported");
  g.add_through([&]() -> std::vector<Term> {
    const Term x = g.operand(0).cast_to(tensor::compute_type(g.operand(0).dtype()));
    const int axis = wrap_axis(a.axis, x.rank());
    const Dim count = x.shape()[static_cast<size_t>(axis)];
    const int64_t before = (a.size - 1) / 2;
    const Term squares = (x * x).padded(axis, before, a.size - 1 - before);
    Term sum = squares.sliced(axis, 0, count);
    for (int64_t k = 1; k < a.size; ++k) sum = sum + squares.sliced(axis, k, count);
    const Term base = sum * (a.alpha / static_cast<double>(a.size)) + a.bias;
    const Term y = x * g.code().call("power", {base, g.code().number(x.dtype(), -a.beta)});
    return {y.cast_to(g.operand(0).dtype())};
  });
}

}  // namespace

void lrn(OperatorTable& table) {
  table.add<LrnAttrs>({
      .name = "nn.lrn",
      .summary = "data / (bias + alpha * mean of the squares around it along one axis)^beta",
      .attributes = {{"size", &LrnAttrs::size, "the number of neighbours, the element itself among them"},
                     {"axis", &LrnAttrs::axis, "the axis of the neighbours"},
                     {"bias", &LrnAttrs::bias, "added to the mean"},
                     {"alpha", &LrnAttrs::alpha, "the factor of the mean; positions outside count as 0"},
                     {"beta", &LrnAttrs::beta, "the exponent"}},
      .arguments = {"data"},
      .type = type_of_lrn,
      .compute = define_lrn,
      .gradient = gradient_of_lrn,
      .tolerance = 1e-6,
  });
}

}  // namespace dlcc::relay::ops
