// dyn.strided_slice: bounds and strides are operands, and the result's shape is declared. A run whose operand leads to
// another shape ends with status shape_mismatch.
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct DynSliceAttrs {
  std::vector<Dim> shape;
  std::optional<std::vector<int64_t>> axes;
};

constexpr const char* list_names[] = {"begin", "end", "strides"};

// For each axis of the data: the position of its bounds in the operands `begin`, `end` and `strides`, or -1.
std::vector<int64_t> bound_positions(const DynSliceAttrs& a, int64_t count, int rank) {
  std::vector<int64_t> position(rank, -1);
  for (int64_t k = 0; k < count; ++k) position[a.axes ? wrap_axis((*a.axes)[k], rank) : k] = k;
  return position;
}

TypeResult type_of_dyn_slice(const DynSliceAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  int rank = static_cast<int>(data.size());
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  for (int k = 0; k < 3; ++k)
    if (auto e = check_list_operand(in[k + 1], list_names[k])) return *e;
  Dim count = in[1].shape[0];
  if (auto e = first_of({check_equal(in[2].shape[0], "the length of end", count, "that of begin"),
                         check_equal(in[3].shape[0], "the length of strides", count, "that of begin"),
                         check_axes("axes", a.axes.value_or(std::vector<int64_t>{}), rank)}))
    return *e;
  if (a.axes && static_cast<int64_t>(a.axes->size()) != count.value())
    return attribute_error(fmt::format("axes has {} numbers, but begin has {}", a.axes->size(), count.value()));
  if (count.value() > rank)
    return shape_error(fmt::format("begin has {} elements, but the data has {} axes", count.value(), rank));
  if (auto e = check_rank({a.shape, in[0].dtype}, "the declared shape", rank)) return *e;
  std::vector<int64_t> position = bound_positions(a, count.value(), rank);
  for (int k = 0; k < rank; ++k)
    if (position[k] < 0)
      if (auto e =
              check_equal(a.shape[k], fmt::format("declared size {}", k), data[k], "the data's, which is not sliced"))
        return *e;
  return tensor_result(a.shape, in[0].dtype);
}

// A bound clamped as numpy does for the stride's direction.
Expr clamped(Expr bound, Expr extent, Expr forward) {
  Expr at = select(bound < Expr(0), bound + extent, bound);
  return select(forward, max(min(at, extent), Expr(0)), max(min(at, extent - Expr(1)), Expr(-1)));
}

struct Slice {
  Expr begin, stride, fits;  // fits: it has the declared number of elements
};

Slice slice_of(Expr begin, Expr end, Expr stride, Expr extent, const Dim& declared) {
  Expr forward = stride > Expr(0);
  Expr from = clamped(begin, extent, forward), to = clamped(end, extent, forward);
  Expr distance = select(forward, to - from, from - to), step = select(forward, stride, Expr(0) - stride);
  Expr count = select(distance > Expr(0), (distance - Expr(1)) / step + Expr(1), Expr(0));
  return {from, stride, logical_and(not_equal(stride, Expr(0)), equal(count, Expr(declared)))};
}

TensorFunction define_dyn_slice(const DynSliceAttrs& a, const Operands& in) {
  Definition d("dyn.strided_slice");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  std::vector<Tensor> lists;
  for (int k = 0; k < 3; ++k) lists.push_back(d.input(list_names[k], in[k + 1].dtype, in[k + 1].shape));
  std::vector<int64_t> position = bound_positions(a, lists[0].extent(0).value(), x.rank());
  auto slice = [&](int axis) {
    auto item = [&](int list) { return integer_at(lists[list], position[axis]); };
    return slice_of(item(0), item(1), item(2), Expr(x.extent(axis)), a.shape[axis]);
  };
  for (int k = 0; k < x.rank(); ++k)
    if (position[k] >= 0) d.require_next([&, k](Index) { return slice(k).fits; }, tensor::Status::shape_mismatch);
  d.result("result", x.type(), a.shape, [&](Index i) {
    std::vector<Expr> at = i;
    for (int k = 0; k < x.rank(); ++k)
      if (position[k] >= 0) at[k] = slice(k).begin + i[k] * slice(k).stride;
    return stored(x, at);
  });
  return d.finish();
}

}  // namespace

void dyn_strided_slice(OperatorTable& table) {
  using A = DynSliceAttrs;
  table.add<A>({
      .name = "dyn.strided_slice",
      .summary = "strided_slice with bounds and strides as operands, which must give the declared shape",
      .attributes = {{"shape", &A::shape, "the declared shape of the result", true},
                     {"axes", &A::axes, "the axes that the operands mean; the first ones if None"}},
      .arguments = {"data", "begin", "end", "strides"},
      .type = type_of_dyn_slice,
      .compute = define_dyn_slice,
  });
}

}  // namespace dlcc::relay::ops
