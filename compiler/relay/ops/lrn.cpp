// nn.lrn: local response normalization, over neighbouring positions of one axis.
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
      .tolerance = 1e-6,
  });
}

}  // namespace dlcc::relay::ops
