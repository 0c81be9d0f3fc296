// nn.softmax and nn.log_softmax along one axis. The maximum is subtracted first, so that no finite element overflows. A
// NaN need not be the maximum to become a NaN in the total, and with it in all of the row.
#include "relay/call_gradient.h"
#include "relay/op_support/reductions.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct SoftmaxAttrs {
  int64_t axis = -1;
};

TypeResult type_of_softmax(const SoftmaxAttrs& a, const Operands& in) {
  int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::real), check_axis("axis", a.axis, rank)})) return *e;
  return tensor_result(in[0].shape, in[0].dtype);
}

TensorFunction define(const SoftmaxAttrs& a, const Operands& in, bool logarithm) {
  Definition d(logarithm ? "nn.log_softmax" : "nn.softmax");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  DType type = tensor::compute_type(x.type());
  std::vector<bool> reduced = axis_mask({a.axis}, x.rank());
  Shape kept = reduced_shape(x.shape(), reduced, true), extent = extents_of(x.shape(), reduced);
  auto along = [&](Index i, Index r) { return merge_index(reduced, true, i, r); };
  auto row = [&](Index i) {
    std::vector<Expr> at = i;
    at[wrap_axis(a.axis, x.rank())] = Expr(0);
    return at;
  };

  Tensor largest =
      d.reduce("largest", kept, tensor::max_number_of(type), extent, [&](Index i, Index r) { return x(along(i, r)); });
  auto shifted = [&](Index i) { return x(i) - largest(row(i)); };
  if (logarithm) {
    Tensor total = d.reduce("total", kept, tensor::sum_of(type), extent,
                            [&](Index i, Index r) { return exp_of_nonpositive(shifted(along(i, r))); });
    Tensor log_total = d.compute("log_total", type, kept, [&](Index i) { return log(total(i)); });
    d.result("result", x.type(), x.shape(), [&](Index i) { return shifted(i) - log_total(row(i)); });
    return d.finish();
  }
  Tensor e = d.compute("e", type, x.shape(), [&](Index i) { return exp_of_nonpositive(shifted(i)); });
  Tensor total =
      d.reduce("total", kept, tensor::sum_of(type), extent, [&](Index i, Index r) { return e(along(i, r)); });
  // The largest element contributes 1 to the total, so that the quotient is finite.
  Tensor scale = d.compute("scale", type, kept, [&](Index i) { return number(type, 1) / total(i); });
  d.result("result", x.type(), x.shape(), [&](Index i) { return e(i) * scale(row(i)); });
  return d.finish();
}

}  // namespace

void softmax(OperatorTable& table) {
  std::vector<Field<SoftmaxAttrs>> fields = {
      {"axis", &SoftmaxAttrs::axis, "the axis that sums to one; negative counts from the last"}};
  table.add<SoftmaxAttrs>({
      .name = "nn.softmax",
      .summary = "exp(x) / sum(exp(x)) along one axis",
      .attributes = fields,
      .arguments = {"data"},
      .type = type_of_softmax,
      .compute = [](const SoftmaxAttrs& a, const Operands& in) { return define(a, in, false); },
      .gradient =
          [](const SoftmaxAttrs& a, CallGradient& g) {
            const Term y = g.result(), weighted = g.gradient() * y;
            g.add(0, weighted - y * weighted.sum_over({a.axis}));
          },
      .tolerance = 2e-6,
  });
  table.add<SoftmaxAttrs>({
      .name = "nn.log_softmax",
      .summary = "the logarithm of softmax along one axis",
      .attributes = fields,
      .arguments = {"data"},
      .type = type_of_softmax,
      .compute = [](const SoftmaxAttrs& a, const Operands& in) { return define(a, in, true); },
      .gradient =
          [](const SoftmaxAttrs& a, CallGradient& g) {
            g.add(0, g.gradient() - g.result().map("exp") * g.gradient().sum_over({a.axis}));
          },
      .tolerance = 2e-6,
  });
}

}  // namespace dlcc::relay::ops
