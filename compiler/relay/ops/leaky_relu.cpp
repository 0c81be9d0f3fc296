// nn.leaky_relu: the identity with a smaller slope below zero.
#include "relay/call_gradient.h"
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct LeakyReluAttrs {
  double alpha = 0.25;
};

TensorFunction define_leaky_relu(const LeakyReluAttrs& a, const Operands& in) {
  Definition d("nn.leaky_relu");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  DType type = tensor::compute_type(x.type());
  d.result("result", x.type(), x.shape(),
           [&](Index i) { return select(x(i) < number(type, 0), x(i) * number(type, a.alpha), x(i)); });
  return d.finish();
}

}  // namespace

void leaky_relu(OperatorTable& table) {
  table.add<LeakyReluAttrs>({
      .name = "nn.leaky_relu",
      .summary = "x where x >= 0, else alpha * x",
      .attributes = {{"alpha", &LeakyReluAttrs::alpha, "the slope below zero"}},
      .arguments = {"data"},
      .type = [](const LeakyReluAttrs&, const Operands& in) -> TypeResult {
        if (auto e = check_type(in[0], "data", types::real)) return *e;
        return tensor_result(in[0].shape, in[0].dtype);
      },
      .compute = define_leaky_relu,
      .gradient = [](const LeakyReluAttrs& a,
                     CallGradient& g) { g.add(0, where(0 > g.operand(0), g.gradient() * a.alpha, g.gradient())); },
  });
}

}  // namespace dlcc::relay::ops
