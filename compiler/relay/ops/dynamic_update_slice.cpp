// dynamic_update_slice: a tensor with one slice replaced, at a position known when the program runs.
#include "relay/op_support/elements.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct DynamicUpdateSliceAttrs {
  int64_t axis = 0;
};

TypeResult type_of_update(const DynamicUpdateSliceAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  int rank = static_cast<int>(data.size());
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_same_type(in[0], "data", in[1], "update"),
                         check_type(in[2], "index", types::index), check_rank(in[2], "index", 0),
                         check_axis("axis", a.axis, rank)}))
    return *e;
  Shape slice = data;
  slice.erase(slice.begin() + wrap_axis(a.axis, rank));
  if (!(in[1].shape == slice))
    return shape_error(fmt::format("update must have the shape {} of a slice, found {}", str(slice), str(in[1].shape)));
  return tensor_result(data, in[0].dtype);
}

TensorFunction define_update(const DynamicUpdateSliceAttrs& a, const Operands& in) {
  Definition d("dynamic_update_slice");
  Tensor data = d.input("data", in[0].dtype, in[0].shape), update = d.input("update", in[1].dtype, in[1].shape);
  Tensor index = d.input("index", in[2].dtype, in[2].shape);
  int axis = wrap_axis(a.axis, data.rank());
  Expr selected = cast(dtype::i64, scalar(index));
  d.require_next([&](Index) { return logical_and(selected >= Expr(0), selected < Expr(data.extent(axis))); },
                 tensor::Status::index_out_of_range);
  d.result("result", data.type(), data.shape(), [&](Index i) {
    std::vector<Expr> rest = i;
    rest.erase(rest.begin() + axis);
    return select(equal(i[static_cast<size_t>(axis)], selected), stored(update, rest), stored(data, i));
  });
  return d.finish();
}

}  // namespace

void dynamic_update_slice(OperatorTable& table) {
  table.add<DynamicUpdateSliceAttrs>({
      .name = "dynamic_update_slice",
      .summary = "data with the slice at an index of one axis replaced; an index outside stops with index_out_of_range",
      .attributes = {{"axis", &DynamicUpdateSliceAttrs::axis, "the axis that the index is of"}},
      .arguments = {"data", "update", "index"},
      .type = type_of_update,
      .compute = define_update,
      .gradient =
          [](const DynamicUpdateSliceAttrs&, CallGradient& g) {
            gradient_by_positions(g, {0, 1});
          },
  });
}

}  // namespace dlcc::relay::ops
