// take: elements of one axis, selected by a tensor of indices.
#include <algorithm>

#include "relay/op_support/gradients.h"
#include "relay/op_support/indices.h"
#include "relay/op_support/shape_operands.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct TakeAttrs {
  std::optional<int64_t> axis;
  int64_t batch_dims = 0;
  std::string mode = "clip";
};

// The number of leading axes that data and indices share; negative values of the attribute count from the indices'
// rank.
int shared_axes(const TakeAttrs& a, const Operands& in) {
  const auto rank = static_cast<int64_t>(in[1].shape.size());
  return static_cast<int>(std::clamp<int64_t>(a.batch_dims < 0 ? a.batch_dims + rank : a.batch_dims, -1, rank + 1));
}

TypeResult type_of_take(const TakeAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  int rank = static_cast<int>(data.size());
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_type(in[1], "indices", types::index)}))
    return *e;
  if (a.mode != "clip" && a.mode != "wrap" && a.mode != "fast" && a.mode != "strict")
    return attribute_error(
        fmt::format("mode must be \"clip\", \"wrap\", \"fast\" or \"strict\", found \"{}\"", a.mode));
  if (a.axis)
    if (auto e = check_axis("axis", *a.axis, rank)) return *e;
  int axis = a.axis ? wrap_axis(*a.axis, rank) : 0;
  const int shared = shared_axes(a, in);
  if (shared < 0 || shared > axis || shared > static_cast<int>(in[1].shape.size()))
    return attribute_error(fmt::format(
        "batch_dims is {}: the data's axes before axis {} and those of the indices can be shared", a.batch_dims, axis));
  for (int k = 0; k < shared; ++k)
    if (auto e =
            check_equal(in[1].shape[k], fmt::format("the size of the indices along axis {}", k), data[k], "the data's"))
      return *e;
  Dim elements = a.axis ? data[axis] : product(data);
  if (elements == Dim(0) && provably_lt(0, product(in[1].shape))) return empty_error("take", data);
  Shape shape;
  if (a.axis) shape.assign(data.begin(), data.begin() + axis);
  shape.insert(shape.end(), in[1].shape.begin() + shared, in[1].shape.end());
  if (a.axis) shape.insert(shape.end(), data.begin() + axis + 1, data.end());
  return tensor_result(shape, in[0].dtype);
}

// An index that is inside for every value of the operand; for mode "strict" the requirement ensures that.
Expr inside(const std::string& mode, Expr index, Expr extent) {
  if (mode == "strict") return from_start(index, extent);
  if (mode == "wrap") return floor_mod(index, extent);
  return max(min(index, extent - Expr(1)), Expr(0));
}

TensorFunction define_take(const TakeAttrs& a, const Operands& in) {
  Definition d("take");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), indices = d.input("indices", in[1].dtype, in[1].shape);
  int axis = a.axis ? wrap_axis(*a.axis, x.rank()) : 0;
  Expr extent = a.axis ? Expr(x.extent(axis)) : Expr(product(x.shape()));
  const int shared = shared_axes(a, in), own = indices.rank() - shared;
  auto selected = [&](Index i) {
    std::vector<Expr> at(i.begin(), i.begin() + shared);
    at.insert(at.end(), i.begin() + axis, i.begin() + axis + own);
    return cast(dtype::i64, indices(at));
  };
  const Shape result = shape_in(type_of_take(a, in));
  if (a.mode == "strict")
    d.require_next([&](Index i) { return logical_and(selected(i) >= Expr(0) - extent, selected(i) < extent); },
                   tensor::Status::index_out_of_range);
  else
    require_element_next(d, a.axis ? x.extent(axis) : product(x.shape()), result, tensor::Status::index_out_of_range);
  d.result("result", x.type(), result, [&](Index i) {
    Expr at = inside(a.mode, selected(i), extent);
    if (!a.axis) return stored(x, unflatten_index(x.shape(), at));
    std::vector<Expr> index(i.begin(), i.begin() + axis);
    index.push_back(at);
    index.insert(index.end(), i.begin() + axis + own, i.end());
    return stored(x, index);
  });
  return d.finish();
}

// The index of each element along the axis, of int64 indices: in the axis, or negative where it counts from the end.
Term index_inside(const std::string& mode, const Term& indices, int64_t extent) {
  GradientCode& code = indices.code();
  auto with = [&](const char* op, const Term& a, int64_t b) { return code.call(op, {a, code.size(dtype::i64, b)}); };
  if (mode == "strict") return indices;
  if (mode == "wrap") return with("floor_mod", indices, extent);
  return with("maximum", with("minimum", indices, extent - 1), 0);
}

// The slices at an index get the gradients of all results that were taken there.
void gradient_of_take(const TakeAttrs& a, CallGradient& g) {
  const TensorType x = g.operands()[0].type;
  const int rank = static_cast<int>(x.shape.size()), axis = a.axis ? wrap_axis(*a.axis, rank) : 0;
  const bool is_known = a.axis && x.shape[static_cast<size_t>(axis)].is_constant();
  if (!is_known || a.batch_dims != 0) return gradient_by_positions(g, {0});
  const Term indices =
      index_inside(a.mode, g.operand(1).cast_to(dtype::i64), x.shape[static_cast<size_t>(axis)].value());
  Shape tuples = indices.shape(), slices = {x.shape[static_cast<size_t>(axis)]};
  tuples.insert(tuples.begin(), 1);
  // The axes of the indices first, then those before the taken axis and those after it.
  std::vector<int64_t> order, back;
  for (int k = 0; k < indices.rank(); ++k) order.push_back(axis + k);
  for (int k = 0; k < rank; ++k) {
    if (k != axis) {
      order.push_back(k < axis ? k : k + indices.rank() - 1);
      slices.push_back(x.shape[static_cast<size_t>(k)]);
    }
    back.push_back(k == axis ? 0 : k < axis ? k + 1 : k);
  }
  const Term sums = g.code().call(
      "scatter_nd", {g.code().full(slices, x.dtype, 0), indices.reshaped(tuples), g.gradient().transposed(order)},
      {{"mode", "add"}});
  g.add(0, sums.transposed(back));
}

}  // namespace

void take(OperatorTable& table) {
  table.add<TakeAttrs>({
      .name = "take",
      .summary = "elements of one axis, selected by indices",
      .attributes =
          {{"axis", &TakeAttrs::axis, "the axis to select from; the flattened data if None"},
           {"batch_dims", &TakeAttrs::batch_dims, "the number of leading axes that data and indices share"},
           {"mode", &TakeAttrs::mode,
            "\"clip\" and \"fast\": to the nearest valid index; \"wrap\": modulo the size; \"strict\": negative ones "
            "count from the end, others outside stop with index_out_of_range"}},
      .arguments = {"data", "indices"},
      .type = type_of_take,
      .compute = define_take,
      .gradient = gradient_of_take,
  });
}

}  // namespace dlcc::relay::ops
