// strided_slice: every stride-th element between two bounds of some axes, clamped as in numpy. Strides may be negative.
#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct StridedSliceAttrs {
  std::optional<std::vector<int64_t>> begin, end, strides, axes;
  std::string slice_mode = "end";
};

// Element i of the result's axis is element begin + i * stride of the data's.
struct Slice {
  Dim begin, count;
  int64_t stride;
};

// The element at which a slice begins or ends, at most one before the first or after the last element.
Dim clamped(int64_t bound, const Dim& extent, int64_t stride) {
  Dim at = bound < 0 ? extent + Dim(bound) : Dim(bound);
  return stride > 0 ? max(min(at, extent), Dim(0)) : max(min(at, extent - Dim(1)), Dim(-1));
}

Slice slice_of(int64_t begin, int64_t end, int64_t stride, const Dim& extent) {
  Dim from = clamped(begin, extent, stride), to = clamped(end, extent, stride);
  Dim distance = stride > 0 ? to - from : from - to;
  Dim step = stride > 0 ? Dim(stride) : Dim(0) - Dim(stride);
  return {from, max(floor_div(distance - Dim(1), step) + Dim(1), Dim(0)), stride};
}

Failure check_lists(const StridedSliceAttrs& a, int rank) {
  if (a.slice_mode != "end" && a.slice_mode != "size")
    return attribute_error(fmt::format("slice_mode must be \"end\" or \"size\", found \"{}\"", a.slice_mode));
  if (!a.begin || !a.end) return attribute_error("begin and end must be lists");
  size_t count = a.axes ? a.axes->size() : a.begin->size();
  if (a.axes)
    if (auto e = check_axes("axes", *a.axes, rank)) return e;
  if (static_cast<int>(count) > rank)
    return attribute_error(fmt::format("begin has {} numbers, but the data has {} axes", count, rank));
  if (a.begin->size() != count || a.end->size() != count)
    return attribute_error(
        fmt::format("begin and end must have {} numbers, found {} and {}", count, a.begin->size(), a.end->size()));
  if (a.strides && a.strides->size() != count && a.strides->size() != 1)
    return attribute_error(fmt::format("strides must have {} numbers, found {}", count, a.strides->size()));
  for (int64_t s : a.strides.value_or(std::vector<int64_t>{}))
    if (s == 0 || s == INT64_MIN) return attribute_error(fmt::format("a stride must not be {}", s));
  return std::nullopt;
}

// One slice per axis of the data, for checked attributes.
std::vector<Slice> slices(const StridedSliceAttrs& a, const Shape& data) {
  int rank = static_cast<int>(data.size());
  std::vector<Slice> all;
  for (const Dim& d : data) all.push_back({0, d, 1});
  for (size_t k = 0; k < a.begin->size(); ++k) {
    int axis = a.axes ? wrap_axis((*a.axes)[k], rank) : static_cast<int>(k);
    int64_t begin = (*a.begin)[k], end = (*a.end)[k], stride = 1;
    if (a.slice_mode == "size") {
      bool to_the_end = end < 0 || (begin < 0 && begin + end >= 0) || end > INT64_MAX - std::max(begin, int64_t{0});
      end = to_the_end ? INT64_MAX : begin + end;
    } else if (a.strides) {
      stride = (*a.strides)[a.strides->size() == 1 ? 0 : k];
    }
    all[axis] = slice_of(begin, end, stride, data[axis]);
  }
  return all;
}

TypeResult type_of_strided_slice(const StridedSliceAttrs& a, const Operands& in) {
  int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::movable), check_lists(a, rank)})) return *e;
  Shape shape;
  for (const Slice& s : slices(a, in[0].shape)) shape.push_back(s.count);
  return tensor_result(shape, in[0].dtype);
}

TensorFunction define_strided_slice(const StridedSliceAttrs& a, const Operands& in) {
  Definition d("strided_slice");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  std::vector<Slice> all = slices(a, x.shape());
  d.result("result", x.type(), shape_in(type_of_strided_slice(a, in)), [&](Index i) {
    std::vector<Expr> at;
    for (size_t k = 0; k < all.size(); ++k) at.push_back(i[k] * Expr(all[k].stride) + Expr(all[k].begin));
    return stored(x, at);
  });
  return d.finish();
}

}  // namespace

void strided_slice(OperatorTable& table) {
  using A = StridedSliceAttrs;
  table.add<A>({
      .name = "strided_slice",
      .summary = "elements between bounds, every stride-th of some axes",
      .attributes = {{"begin", &A::begin, "first element, per axis; negative counts from the end", true},
                     {"end", &A::end,
                      "bound after the last element, or with slice_mode \"size\" the count (-1: to the end)", true},
                     {"strides", &A::strides, "step, per axis; 1 if None"},
                     {"axes", &A::axes, "the sliced axes; the first ones if None"},
                     {"slice_mode", &A::slice_mode, "\"end\" or \"size\" (which ignores strides)"}},
      .arguments = {"data"},
      .type = type_of_strided_slice,
      .compute = define_strided_slice,
  });
}

}  // namespace dlcc::relay::ops
