// broadcast_to: repeats along axes of size 1, and along new leading axes.
#include "relay/op_support/broadcasting.h"

namespace dlcc::relay::ops {

namespace {

struct BroadcastToAttrs {
  std::vector<Dim> shape;
};

TensorFunction define_broadcast_to(const BroadcastToAttrs& a, const Operands& in) {
  Definition d("broadcast_to");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  d.result("result", x.type(), a.shape, [&](Index i) { return stored(x, broadcast_index(x.shape(), a.shape, i)); });
  return d.finish();
}

}  // namespace

void broadcast_to(OperatorTable& table) {
  table.add<BroadcastToAttrs>({
      .name = "broadcast_to",
      .summary = "repeats elements along axes of size 1 and new leading axes",
      .attributes = {{"shape", &BroadcastToAttrs::shape, "the result's shape", true}},
      .arguments = {"data"},
      .type = [](const BroadcastToAttrs& a, const Operands& in) -> TypeResult {
        if (auto e = first_of({check_type(in[0], "data", types::movable), check_broadcasts_to(in[0].shape, a.shape)}))
          return *e;
        return tensor_result(a.shape, in[0].dtype);
      },
      .compute = define_broadcast_to,
  });
}

}  // namespace dlcc::relay::ops
