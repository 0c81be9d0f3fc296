// squeeze and expand_dims: remove and insert axes of size 1.
#include "relay/op_support/indices.h"
#include "relay/op_support/reductions.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct SqueezeAttrs {
  std::optional<std::vector<int64_t>> axis;
};
struct ExpandDimsAttrs {
  int64_t axis = 0, num_newaxis = 1;
};

TypeResult type_of_squeeze(const SqueezeAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  int rank = static_cast<int>(data.size());
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
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
  if (a.num_newaxis < 0 || a.num_newaxis > 64)
    return attribute_error(fmt::format("num_newaxis must be in [0, 64], found {}", a.num_newaxis));
  if (auto e = check_axis("axis", a.axis, rank + 1)) return *e;
  Shape shape = in[0].shape;
  shape.insert(shape.begin() + wrap_axis(a.axis, rank + 1), static_cast<size_t>(a.num_newaxis), Dim(1));
  return tensor_result(shape, in[0].dtype);
}

}  // namespace

void unit_axes(OperatorTable& table) {
  table.add<SqueezeAttrs>({
      .name = "squeeze",
      .summary = "removes axes of size 1",
      .attributes = {{"axis", &SqueezeAttrs::axis, "the axes to remove; all of size 1 if None"}},
      .arguments = {"data"},
      .type = type_of_squeeze,
      .compute = [](const SqueezeAttrs& a,
                    const Operands& in) { return define_view("squeeze", in[0], shape_in(type_of_squeeze(a, in))); },
  });
  table.add<ExpandDimsAttrs>({
      .name = "expand_dims",
      .summary = "inserts axes of size 1",
      .attributes = {{"axis", &ExpandDimsAttrs::axis,
                      "the data's axis before which axes are inserted; -1: after the last", true},
                     {"num_newaxis", &ExpandDimsAttrs::num_newaxis, "the number of axes to insert"}},
      .arguments = {"data"},
      .type = type_of_expand_dims,
      .compute =
          [](const ExpandDimsAttrs& a, const Operands& in) {
            return define_view("expand_dims", in[0], shape_in(type_of_expand_dims(a, in)));
          },
  });
}

}  // namespace dlcc::relay::ops
