// dyn.squeeze and dyn.expand_dims: the axes of size 1 to remove or insert are an operand, and the result's shape is
// declared. A run whose operand leads to another shape ends with status shape_mismatch.
#include "relay/op_support/indices.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct DynAxesAttrs {
  std::vector<Dim> shape;
};

// `longer` has the axes of size 1 that `shorter` lacks.
TypeResult type_of_dyn_axes(const DynAxesAttrs& a, const Operands& in, const Shape& longer, const Shape& shorter) {
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_list_operand(in[1], "axis")})) return *e;
  int64_t difference = static_cast<int64_t>(longer.size()) - static_cast<int64_t>(shorter.size());
  if (!(in[1].shape[0] == Dim(difference)))
    return shape_error(fmt::format("the declared shape {} differs by {} axes from {}, but axis has {} elements",
                                   str(a.shape), difference, str(in[0].shape), in[1].shape[0].str()));
  if (auto e = check_equal(product(a.shape), fmt::format("the element count of {}", str(a.shape)), product(in[0].shape),
                           fmt::format("that of {}", str(in[0].shape))))
    return *e;
  return tensor_result(a.shape, in[0].dtype);
}

TensorFunction define(const char* name, const DynAxesAttrs& a, const Operands& in, const Shape& longer,
                      const Shape& shorter) {
  Definition d(name);
  Tensor x = d.input("data", in[0].dtype, in[0].shape), axes = d.input("axis", in[1].dtype, in[1].shape);
  d.require_next(
      [&](Index) {
        std::vector<Expr> marked = marked_axes(axes, static_cast<int>(longer.size()));
        return logical_and(axes_valid(axes, marked), drops_to(marked, longer, shorter));
      },
      tensor::Status::shape_mismatch);
  d.result("result", x.type(), a.shape, [&](Index i) { return stored(x, reshape_index(x.shape(), a.shape, i)); });
  return d.finish();
}

}  // namespace

void dyn_unit_axes(OperatorTable& table) {
  using A = DynAxesAttrs;
  std::vector<Field<A>> fields = {{"shape", &A::shape, "the declared shape of the result", true}};
  table.add<A>({
      .name = "dyn.squeeze",
      .summary = "squeeze with the axes as an operand, which must give the declared shape",
      .attributes = fields,
      .arguments = {"data", "axis"},
      .type = [](const A& a, const Operands& in) { return type_of_dyn_axes(a, in, in[0].shape, a.shape); },
      .compute = [](const A& a, const Operands& in) { return define("dyn.squeeze", a, in, in[0].shape, a.shape); },
  });
  table.add<A>({
      .name = "dyn.expand_dims",
      .summary = "inserts axes of size 1 that an operand names in the result, which must give the declared shape",
      .attributes = fields,
      .arguments = {"data", "axis"},
      .type = [](const A& a, const Operands& in) { return type_of_dyn_axes(a, in, a.shape, in[0].shape); },
      .compute = [](const A& a, const Operands& in) { return define("dyn.expand_dims", a, in, a.shape, in[0].shape); },
  });
}

}  // namespace dlcc::relay::ops
