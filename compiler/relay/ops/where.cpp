// where: selects elements of one of two tensors; all three operands are broadcast.
#include "relay/call_gradient.h"
#include "relay/op_support/broadcasting.h"

namespace dlcc::relay::ops {

namespace {

TypeResult type_of_where(const NoAttrs&, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "condition", types::boolean), check_type(in[1], "x", types::ordinary),
                         check_same_type(in[1], "x", in[2], "y")}))
    return *e;
  Checked<Shape> values = broadcast(in[1].shape, in[2].shape);
  if (auto* e = std::get_if<TypeError>(&values)) return *e;
  Checked<Shape> shape = broadcast(in[0].shape, std::get<Shape>(values));
  if (auto* e = std::get_if<TypeError>(&shape)) return *e;
  return tensor_result(std::get<Shape>(shape), in[1].dtype);
}

TensorFunction define_where(const NoAttrs& a, const Operands& in) {
  Definition d("where");
  Tensor condition = d.input("condition", in[0].dtype, in[0].shape);
  Tensor x = d.input("x", in[1].dtype, in[1].shape), y = d.input("y", in[2].dtype, in[2].shape);
  Shape shape = shape_in(type_of_where(a, in));
  for (const Tensor* t : {&condition, &x, &y}) require_broadcast_next(d, t->shape(), shape);
  auto element = [&](const Tensor& t, Index i) { return t(broadcast_index(t.shape(), shape, i)); };
  d.result("result", x.type(), shape,
           [&](Index i) { return select(element(condition, i), element(x, i), element(y, i)); });
  return d.finish();
}

}  // namespace

void where(OperatorTable& table) {
  table.add<NoAttrs>({
      .name = "where",
      .summary = "x where the condition is true, else y",
      .attributes = {},
      .arguments = {"condition", "x", "y"},
      .type = type_of_where,
      .compute = define_where,
      .gradient =
          [](const NoAttrs&, CallGradient& g) {
            if (g.wants(1)) g.add(1, where(g.operand(0), g.gradient(), 0));
            if (g.wants(2)) g.add(2, where(g.operand(0), 0, g.gradient()));
          },
  });
}

}  // namespace dlcc::relay::ops
