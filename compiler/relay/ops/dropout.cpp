// nn.dropout at inference: the data itself, and a mask of ones.
#include "relay/op_support/elements.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct DropoutAttrs {
  double rate = 0.5;
};

TensorFunction define_dropout(const DropoutAttrs&, const Operands& in) {
  Definition d("nn.dropout");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  d.result("result", x.type(), x.shape(), [&](Index i) { return stored(x, i); });
  d.result("mask", x.type(), x.shape(), [&](Index) { return number(tensor::compute_type(x.type()), 1); });
  return d.finish();
}

}  // namespace

void dropout(OperatorTable& table) {
  table.add<DropoutAttrs>({
      .name = "nn.dropout",
      .summary = "the data unchanged and a mask of ones: nothing is dropped at inference",
      .attributes = {{"rate", &DropoutAttrs::rate, "the share of elements that training drops"}},
      .arguments = {"data"},
      .type = [](const DropoutAttrs&, const Operands& in) -> TypeResult {
        if (auto e = check_type(in[0], "data", types::real)) return *e;
        Type type = tensor_type(in[0].shape, in[0].dtype);
        return tuple_type({type, type});
      },
      .compute = define_dropout,
      .gradient = gradient_of_identity,
  });
}

}  // namespace dlcc::relay::ops
