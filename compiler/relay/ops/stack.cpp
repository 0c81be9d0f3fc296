// stack, adv_index, meshgrid: operators of several tensors.
#include "relay/op_support/broadcasting.h"
#include "relay/op_support/composition.h"
#include "relay/op_support/gradients.h"

namespace dlcc::relay::ops {

namespace {

struct StackAttrs {
  int64_t axis = 0;
};
struct MeshgridAttrs {
  std::string indexing = "ij";
};

std::vector<Value> fields_of(const Composition& c, size_t least) {
  std::vector<Value> fields;
  for (size_t k = 0; k < c.operand_count(); ++k) fields.push_back(c.operand(k));
  if (fields.size() < least)
    c.fail({DiagnosticId::wrong_arity,
            fmt::format("the tuple must have at least {} tensors, found {}", least, fields.size()), ""});
  return fields;
}

Value stacked(Composition& c, std::vector<Value> fields, int64_t axis) {
  const int rank = fields[0].rank();
  c.require(check_axis("axis", axis, rank + 1));
  const int at = wrap_axis(axis, rank + 1);
  for (Value& field : fields) {
    c.require(check_rank(field.type, "each field", rank));
    Shape shape = field.shape();
    shape.insert(shape.begin() + at, Dim(1));
    field = c.reshape(field, shape);
  }
  // Each field has size 1 along the new axis; the sizes of the others must be equal.
  return c.call("concatenate", fields, {{"axis", at}});
}

Value stack_fields(const StackAttrs& a, Composition& c) { return stacked(c, fields_of(c, 1), a.axis); }

Value adv_index(const NoAttrs&, Composition& c) {
  std::vector<Value> indices = fields_of(c, 2);
  const Value data = indices[0];
  indices.erase(indices.begin());
  Shape shape;
  for (const Value& index : indices) {
    c.require(check_type(index.type, "each index", types::index));
    const Checked<Shape> together = broadcast(shape, index.shape());
    if (auto* e = std::get_if<TypeError>(&together)) c.fail(*e);
    shape = std::get<Shape>(together);
  }
  for (Value& index : indices)
    index = c.call("broadcast_to", {c.cast(index, dtype::i64)}, {{"shape", sizes_attribute(shape)}});
  return c.call("gather_nd", {data, stacked(c, indices, 0)});
}

// The axis of the results along which a field's elements differ.
size_t axis_of_field(const MeshgridAttrs& a, size_t field, size_t fields) {
  return a.indexing == "xy" && fields > 1 && field < 2 ? 1 - field : field;
}

std::vector<Value> meshgrid(const MeshgridAttrs& a, Composition& c) {
  const std::vector<Value> fields = fields_of(c, 1);
  if (a.indexing != "ij" && a.indexing != "xy")
    c.fail(attribute_error(fmt::format("indexing must be \"ij\" or \"xy\", found \"{}\"", a.indexing)));
  auto axis_of = [&](size_t k) { return axis_of_field(a, k, fields.size()); };
  Shape shape(fields.size());
  for (size_t k = 0; k < fields.size(); ++k) {
    c.require(first_of({check_type(fields[k].type, "each field", types::movable),
                        check_same_type(fields[0].type, "field 0", fields[k].type, "each field")}));
    if (fields[k].rank() > 1) c.fail(shape_error("each field must have at most one dimension"));
    shape[axis_of(k)] = fields[k].rank() == 0 ? Dim(1) : fields[k].shape()[0];
  }
  std::vector<Value> results;
  for (size_t k = 0; k < fields.size(); ++k) {
    const size_t axis = axis_of(k);
    const bool is_scalar = fields[k].rank() == 0;
    results.push_back(c.compute(fields[k].dtype(), shape, {fields[k]}, [=](const std::vector<Tensor>& args, Index i) {
      return stored(args[0], is_scalar ? std::vector<Expr>{} : std::vector<Expr>{i[axis]});
    }));
  }
  return results;
}

}  // namespace

void stack(OperatorTable& table) {
  table.add(composed<StackAttrs>({.name = "stack",
                                  .summary = "joins tensors of one shape along a new axis",
                                  .attributes = {{"axis", &StackAttrs::axis, "the new axis of the result"}},
                                  .arguments = {"data"},
                                  .variadic = true},
                                 stack_fields));
  table.add(composed<NoAttrs>(
      {.name = "adv_index",
       .summary = "elements of the first tensor at the indices that the others give for its first axes, broadcast "
                  "together; negative ones count from the end, others outside stop with index_out_of_range",
       .arguments = {"inputs"},
       .variadic = true,
       .sample_shapes = {{2, 3}, {4}}},
      adv_index));
  table.add(composed<MeshgridAttrs>(
      {.name = "meshgrid",
       .summary = "the coordinates of the points of a grid, one tensor for each axis, from the vectors of coordinates",
       .attributes = {{"indexing", &MeshgridAttrs::indexing,
                       "\"ij\": axis k is that of vector k; \"xy\": the first two axes are exchanged"}},
       .arguments = {"data"},
       .variadic = true,
       .gradient =
           [](const MeshgridAttrs& a, CallGradient& g) {
             for (size_t k = 0; k < g.operand_count(); ++k) {
               const auto own = static_cast<int64_t>(axis_of_field(a, k, g.operand_count()));
               std::vector<int64_t> others;
               for (int64_t axis = 0; axis < static_cast<int64_t>(g.operand_count()); ++axis)
                 if (axis != own) others.push_back(axis);
               g.add(k, g.gradient(k).sum_over(others).reshaped(g.operands()[k].type.shape));
             }
           }},
      meshgrid));
}

}  // namespace dlcc::relay::ops
