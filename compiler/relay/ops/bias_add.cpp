// nn.bias_add: adds a vector along one axis.
#include "relay/attr_structs.h"
#include "relay/call_gradient.h"
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

TypeResult type_of_bias_add(const BiasAddAttrs& a, const Operands& in) {
  int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::number), check_same_type(in[0], "data", in[1], "bias"),
                         check_axis("axis", a.axis, rank), check_rank(in[1], "bias", 1)}))
    return *e;
  int axis = wrap_axis(a.axis, rank);
  if (auto e = check_equal(in[1].shape[0], "the length of the bias", in[0].shape[axis],
                           fmt::format("the data's size along axis {}", axis)))
    return *e;
  return tensor_result(in[0].shape, in[0].dtype);
}

TensorFunction define_bias_add(const BiasAddAttrs& a, const Operands& in) {
  Definition d("nn.bias_add");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), bias = d.input("bias", in[1].dtype, in[1].shape);
  int axis = wrap_axis(a.axis, x.rank());
  d.result("result", x.type(), x.shape(), [&](Index i) { return x(i) + bias(i[axis]); });
  return d.finish();
}

}  // namespace

void bias_add(OperatorTable& table) {
  table.add<BiasAddAttrs>({
      .name = "nn.bias_add",
      .summary = "adds a vector along one axis",
      .attributes = {{"axis", &BiasAddAttrs::axis, "the axis that the bias runs along; negative counts from the last"}},
      .arguments = {"data", "bias"},
      .type = type_of_bias_add,
      .compute = define_bias_add,
      .gradient =
          [](const BiasAddAttrs& a, CallGradient& g) {
            const Term gradient = g.gradient();
            g.add(0, gradient);
            if (!g.wants(1)) return;
            std::vector<int64_t> others;
            for (int64_t k = 0; k < gradient.rank(); ++k)
              if (k != wrap_axis(a.axis, gradient.rank())) others.push_back(k);
            g.add(1, gradient.sum_over(others).reshaped(g.operand(1).shape()));
          },
  });
}

}  // namespace dlcc::relay::ops
