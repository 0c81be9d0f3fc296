// repeat, reverse, sliding_window, nn.dilate, nn.mirror_pad: each element of the result is one of the data, or a fill
// value.
#include "relay/op_support/composition.h"
#include "relay/op_support/gradients.h"

namespace dlcc::relay::ops {

namespace {

struct RepeatAttrs {
  int64_t repeats = 1;
  std::optional<int64_t> axis;
};
struct ReverseAttrs {
  int64_t axis = 0;
};
struct SlidingWindowAttrs {
  int64_t axis = 0;
  std::vector<int64_t> window_shape, strides;
};
struct DilateAttrs {
  std::vector<int64_t> strides = {1, 1};
  double dilation_value = 0;
};
struct MirrorPadAttrs {
  std::string mode = "SYMMETRIC";
  AttrValue pad_width;
};

using Args = const std::vector<Tensor>&;

Value repeat_elements(const RepeatAttrs& a, Composition& c) {
  Value x = c.operand(0);
  if (!a.axis) x = c.reshape(x, {product(x.shape())});
  c.require(first_of({check_type(x.type, "data", types::movable), check_axis("axis", a.axis.value_or(0), x.rank()),
                      check_positive("repeats", {a.repeats})}));
  const int axis = wrap_axis(a.axis.value_or(0), x.rank());
  Shape shape = x.shape();
  shape[axis] = shape[axis] * Dim(a.repeats);
  return c.compute(x.dtype(), shape, {x}, [axis, repeats = a.repeats](Args args, Index i) {
    std::vector<Expr> at = i;
    at[axis] = floor_div(at[axis], Expr(repeats));
    return stored(args[0], at);
  });
}

Value reversed(const ReverseAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  c.require(first_of({check_type(x.type, "data", types::movable), check_axis("axis", a.axis, x.rank())}));
  const int axis = wrap_axis(a.axis, x.rank());
  return c.compute(x.dtype(), x.shape(), {x}, [axis](Args args, Index i) {
    std::vector<Expr> at = i;
    at[axis] = Expr(args[0].extent(axis)) - Expr(1) - at[axis];
    return stored(args[0], at);
  });
}

// The number of windows along each axis from `axis` on, for attributes and data that the operator accepts.
std::vector<Dim> window_counts(const SlidingWindowAttrs& a, const Shape& data) {
  const size_t first = data.size() - a.window_shape.size();
  std::vector<Dim> counts;
  for (size_t k = 0; k < a.window_shape.size(); ++k)
    counts.push_back(floor_div(data[first + k] - Dim(a.window_shape[k]), Dim(a.strides[k])) + Dim(1));
  return counts;
}

Value sliding_window(const SlidingWindowAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  c.require(first_of({check_type(x.type, "data", types::movable), check_axis("axis", a.axis, x.rank()),
                      check_positive("window_shape", a.window_shape), check_positive("strides", a.strides)}));
  const auto first = static_cast<size_t>(wrap_axis(a.axis, x.rank()));
  const size_t moved = x.shape().size() - first;
  if (a.window_shape.size() != moved || a.strides.size() != moved)
    c.fail(
        attribute_error(fmt::format("window_shape and strides must have {} numbers, one for each axis from axis {} on, "
                                    "found {} and {}",
                                    moved, first, a.window_shape.size(), a.strides.size())));
  for (size_t k = 0; k < moved; ++k)
    if (const Dim size = x.shape()[first + k]; provably_lt(size, a.window_shape[k]))
      c.fail(out_of_range_error(fmt::format("a window has {} elements along axis {}, the data {}", a.window_shape[k],
                                            first + k, size.str())));
  Shape shape(x.shape().begin(), x.shape().begin() + static_cast<ptrdiff_t>(first));
  const std::vector<Dim> counts = window_counts(a, x.shape());
  shape.insert(shape.end(), counts.begin(), counts.end());
  for (int64_t size : a.window_shape) shape.emplace_back(size);
  return c.compute(x.dtype(), shape, {x}, [first, moved, strides = a.strides](Args args, Index i) {
    std::vector<Expr> at(i.begin(), i.begin() + static_cast<ptrdiff_t>(first + moved));
    for (size_t k = 0; k < moved; ++k) at[first + k] = at[first + k] * Expr(strides[k]) + i[first + moved + k];
    return stored(args[0], at);
  });
}

Value dilated(const DilateAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  c.require(first_of({check_type(x.type, "x", types::number), check_positive("strides", a.strides)}));
  if (static_cast<int>(a.strides.size()) != x.rank())
    c.fail(attribute_error(fmt::format("strides must have {} numbers, found {}", x.rank(), a.strides.size())));
  Shape shape;
  for (size_t k = 0; k < a.strides.size(); ++k)
    shape.push_back(max((x.shape()[k] - Dim(1)) * Dim(a.strides[k]) + Dim(1), Dim(0)));
  return c.compute(x.dtype(), shape, {x}, [strides = a.strides, value = a.dilation_value](Args args, Index i) {
    std::vector<Expr> at, kept;
    for (size_t k = 0; k < strides.size(); ++k) {
      at.push_back(strides[k] == 1 ? i[k] : floor_div(i[k], Expr(strides[k])));
      if (strides[k] > 1) kept.push_back(equal(floor_mod(i[k], Expr(strides[k])), Expr(0)));
    }
    const Expr element = args[0](at);
    return kept.empty() ? element : select(all_of(kept), element, number(element.type(), value));
  });
}

Value mirror_padded(const MirrorPadAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  if (a.mode != "SYMMETRIC" && a.mode != "REFLECT")
    c.fail(attribute_error(fmt::format("mode must be \"SYMMETRIC\" or \"REFLECT\", found \"{}\"", a.mode)));
  return c.call("nn.pad", {x, c.cast(c.number(dtype::f32, 0), x.dtype())},
                {{"pad_width", a.pad_width}, {"pad_mode", a.mode == "REFLECT" ? "reflect" : "symmetric"}});
}

}  // namespace

void repeat(OperatorTable& table) {
  table.add(
      composed<RepeatAttrs>({.name = "repeat",
                             .summary = "each element several times along an axis",
                             .attributes = {{"repeats", &RepeatAttrs::repeats, "how often each element appears", true},
                                            {"axis", &RepeatAttrs::axis, "the axis; the flattened data if None"}},
                             .arguments = {"data"},
                             .gradient = gradient_of_movement},
                            repeat_elements));
  table.add(composed<ReverseAttrs>({.name = "reverse",
                                    .summary = "the elements of an axis in reverse order",
                                    .attributes = {{"axis", &ReverseAttrs::axis, "the axis", true}},
                                    .arguments = {"data"},
                                    .gradient = gradient_of_involution},
                                   reversed));
  using W = SlidingWindowAttrs;
  OperatorSpec<W> windows = composed<W>(
      {.name = "sliding_window",
       .summary = "the windows of the data along its last axes: axes that count windows, then the axes of a window",
       .attributes = {{"axis", &W::axis, "the first axis along which windows move", true},
                      {"window_shape", &W::window_shape, "the sizes of a window", true},
                      {"strides", &W::strides, "the steps between windows", true}},
       .arguments = {"data"},
       .gradient = gradient_of_movement},
      sliding_window);
  windows.positive_sizes = [](const W& a, const Operands& in) { return window_counts(a, in[0].shape); };
  table.add(std::move(windows));
  using D = DilateAttrs;
  table.add(composed<D>({.name = "nn.dilate",
                         .summary = "the data with elements of one value inserted between its elements",
                         .attributes = {{"strides", &D::strides, "the distance between the data's elements, per axis"},
                                        {"dilation_value", &D::dilation_value, "the inserted value"}},
                         .arguments = {"x"},
                         .gradient =
                             [](const D&, CallGradient& g) {
                               gradient_by_positions(g, {0}, {{"dilation_value", -1.0}});
                             },
                         .sample_shapes = {{2, 2}},
                         .sample_attrs = {{"strides", std::vector<int64_t>{1, 2}}}},
                        dilated));
  using M = MirrorPadAttrs;
  table.add(composed<M>(
      {.name = "nn.mirror_pad",
       .summary = "extends a tensor at its borders by mirrored elements",
       .attributes = {{"mode", &M::mode, "\"SYMMETRIC\": with the element at the border; \"REFLECT\": without it"},
                      {"pad_width", &M::pad_width, "per axis: the number of elements added before and after", true}},
       .arguments = {"data"},
       .gradient = gradient_of_movement},
      mirror_padded));
}

}  // namespace dlcc::relay::ops
