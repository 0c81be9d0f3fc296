// transpose: permutes axes.
#include "relay/attr_structs.h"
#include "relay/op_support/elements.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

TypeResult type_of_transpose(const TransposeAttrs& a, const Operands& in) {
  int rank = static_cast<int>(in[0].shape.size());
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  if (a.axes && static_cast<int>(a.axes->size()) != rank)
    return attribute_error(fmt::format("axes must name all {} axes of the data, found {}", rank, a.axes->size()));
  if (a.axes)
    if (auto e = check_axes("axes", *a.axes, rank)) return *e;
  Shape shape;
  for (int64_t axis : a.order(rank)) shape.push_back(in[0].shape[static_cast<size_t>(axis)]);
  return tensor_result(shape, in[0].dtype);
}

TensorFunction define_transpose(const TransposeAttrs& a, const Operands& in) {
  Definition d("transpose");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const std::vector<int64_t> order = a.order(x.rank());
  d.result("result", x.type(), shape_in(type_of_transpose(a, in)), [&](Index i) {
    std::vector<Expr> at(order.size());
    for (size_t k = 0; k < order.size(); ++k) at[static_cast<size_t>(order[k])] = i[k];
    return stored(x, at);
  });
  return d.finish();
}

}  // namespace

void transpose(OperatorTable& table) {
  table.add<TransposeAttrs>({
      .name = "transpose",
      .summary = "permutes axes",
      .attributes = {{"axes", &TransposeAttrs::axes, "for each axis of the result, the data's; reversed if None"}},
      .arguments = {"data"},
      .type = type_of_transpose,
      .compute = define_transpose,
      .gradient =
          [](const TransposeAttrs& a, CallGradient& g) {
            g.add(0, g.gradient().transposed(inverse_order(a.order(g.operand(0).rank()))));
          },
  });
}

}  // namespace dlcc::relay::ops
