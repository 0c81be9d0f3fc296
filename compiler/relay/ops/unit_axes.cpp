// squeeze and expand_dims: remove and insert axes of size 1.
#include "relay/op_support/gradients.h"
#include "relay/op_support/indices.h"
#include "relay/op_support/reductions.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct SqueezeAttrs {
  std::optional<std::vector<int64_t>> axis;
};
struct ExpandDimsAttrs {
  std::vector<int64_t> axis;
  int64_t num_newaxis = 1;
};

// The type of a result whose axes of size 1 depend on an operand: its other axes are those of `known`, in order, at
// unknown positions.
TypeResult undecided(const Operands& in, int64_t rank, const Shape& known) {
  if (rank < 0) return shape_error(fmt::format("axis names more than the {} axes of the data", in[0].shape.size()));
  const bool all_ones = std::ranges::all_of(known, [](const Dim& d) { return d == Dim(1); });
  return tensor_result(Shape(static_cast<size_t>(rank), all_ones ? Dim(1) : unknown_dim()), in[0].dtype);
}

// The definition of either operator, for an operand `axis` that marks the axes of `longer` that `shorter` lacks.
TensorFunction define(const char* name, const Operands& in, const Shape& result, const Shape& longer,
                      const Shape& shorter) {
  Definition d(name);
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  if (in.size() > 1) {
    Tensor axes = d.input("axis", in[1].dtype, in[1].shape);
    d.require_next(
        [=](Index) {
          std::vector<Expr> marked = marked_axes(axes, static_cast<int>(longer.size()));
          return logical_and(axes_valid(axes, marked), drops_to(marked, longer, shorter));
        },
        tensor::Status::shape_mismatch);
  }
  require_equal_next(d, product(result), product(x.shape()));
  d.result("result", x.type(), result, [&](Index i) { return stored(x, reshape_index(x.shape(), result, i)); });
  return d.finish();
}

TypeResult type_of_squeeze(const SqueezeAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  int rank = static_cast<int>(data.size());
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  if (in.size() > 1) {
    if (auto e = check_list_operand(in[1], "axis")) return *e;
    return undecided(in, rank - in[1].shape[0].value(), data);
  }
  if (auto e = check_axes("axis", a.axis.value_or(std::vector<int64_t>{}), rank)) return *e;
  std::vector<bool> removed(rank);
  for (int k = 0; k < rank; ++k) removed[k] = data[k] == Dim(1);
  if (a.axis) {
    std::vector<bool> named = axis_mask(*a.axis, rank);
    for (int k = 0; k < rank; ++k)
      if (named[k] && !removed[k])
        return shape_error(fmt::format("axis {} has size {} and cannot be removed", k, data[k].str()),
                           "only axes of size 1 can");
    removed = named;
  }
  return tensor_result(reduced_shape(data, removed, false), in[0].dtype);
}

TypeResult type_of_expand_dims(const ExpandDimsAttrs& a, const Operands& in) {
  int rank = static_cast<int>(in[0].shape.size());
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  if (in.size() > 1) {
    if (auto e = check_list_operand(in[1], "axis")) return *e;
    return undecided(in, rank + in[1].shape[0].value(), in[0].shape);
  }
  if (a.num_newaxis < 0 || a.num_newaxis > 64)
    return attribute_error(fmt::format("num_newaxis must be in [0, 64], found {}", a.num_newaxis));
  Shape shape = in[0].shape;
  if (a.axis.size() == 1) {
    if (auto e = check_axis("axis", a.axis[0], rank + 1)) return *e;
    shape.insert(shape.begin() + wrap_axis(a.axis[0], rank + 1), static_cast<size_t>(a.num_newaxis), Dim(1));
    return tensor_result(shape, in[0].dtype);
  }
  if (a.num_newaxis != 1) return attribute_error("num_newaxis is for one axis only");
  const int all = rank + static_cast<int>(a.axis.size());
  if (auto e = check_axes("axis", a.axis, all)) return *e;
  const std::vector<bool> inserted = axis_mask(a.axis, all);
  for (int k = 0; k < all; ++k)
    if (inserted[k]) shape.insert(shape.begin() + k, Dim(1));
  return tensor_result(shape, in[0].dtype);
}

}  // namespace

void unit_axes(OperatorTable& table) {
  table.add<SqueezeAttrs>({
      .name = "squeeze",
      .summary = "removes axes of size 1",
      .attributes = {{"axis", &SqueezeAttrs::axis, "the axes to remove; all of size 1 if None"}},
      .arguments = {"data"},
      .values = {"axis"},
      .type = type_of_squeeze,
      .compute_as = [](const SqueezeAttrs&, const Operands& in,
                       const Shape& result) { return define("squeeze", in, result, in[0].shape, result); },
      .gradient = gradient_of_reshape,
  });
  table.add<ExpandDimsAttrs>({
      .name = "expand_dims",
      .summary = "inserts axes of size 1",
      .attributes =
          {{"axis", &ExpandDimsAttrs::axis,
            "the data's axis before which axes are inserted; -1: after the last. Several: the new axes of the "
            "result",
            true},
           {"num_newaxis", &ExpandDimsAttrs::num_newaxis, "the number of axes to insert before one axis"}},
      .arguments = {"data"},
      .values = {"axis"},
      .type = type_of_expand_dims,
      .compute_as = [](const ExpandDimsAttrs&, const Operands& in,
                       const Shape& result) { return define("expand_dims", in, result, result, in[0].shape); },
      .gradient = gradient_of_reshape,
  });
}

}  // namespace dlcc::relay::ops
