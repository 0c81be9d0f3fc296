// Operators that take a shape or an element type from an operand: broadcast_to_like, cast_like, full_like,
// reshape_like, slice_like, collapse_sum_like, collapse_sum_to, ndarray_size.
#include "relay/op_support/broadcasting.h"
#include "relay/op_support/composition.h"

namespace dlcc::relay::ops {

namespace {

struct ReshapeLikeAttrs {
  int64_t lhs_begin = 0;
  std::optional<int64_t> lhs_end;
  int64_t rhs_begin = 0;
  std::optional<int64_t> rhs_end;
};
struct SliceLikeAttrs {
  std::vector<int64_t> axes;
};
struct CollapseSumToAttrs {
  std::vector<Dim> shape;
};
struct NdarraySizeAttrs {
  DType dtype = dtype::i32;
};

Value broadcast_to_like(const NoAttrs&, Composition& c) {
  return c.call("broadcast_to", {c.operand(0)}, {{"shape", sizes_attribute(c.operand(1).shape())}});
}

Value cast_like(const NoAttrs&, Composition& c) { return c.cast(c.operand(0), c.operand(1).dtype()); }

Value full_like(const NoAttrs&, Composition& c) {
  const Value like = c.operand(0);
  return c.call("full", {c.operand(1)},
                {{"shape", sizes_attribute(like.shape())}, {"dtype", std::string(name(like.dtype()))}});
}

// The axes [begin, end) of a shape; negative bounds count from the end.
Shape axes_between(const Composition& c, const char* what, const Shape& shape, int64_t begin,
                   const std::optional<int64_t>& end) {
  const auto rank = static_cast<int64_t>(shape.size());
  auto wrapped = [&](int64_t at) { return at < 0 ? at + rank : at; };
  const int64_t from = wrapped(begin), to = wrapped(end.value_or(rank));
  if (from < 0 || from > to || to > rank)
    c.fail(attribute_error(fmt::format("{}_begin and {}_end must select axes of {}, found {} and {}", what, what, rank,
                                       begin, end.value_or(rank))));
  return {shape.begin() + from, shape.begin() + to};
}

Value reshape_like(const ReshapeLikeAttrs& a, Composition& c) {
  c.require(check_type(c.operand(0).type, "data", types::movable));
  const Shape data = c.operand(0).shape();
  const Shape replaced = axes_between(c, "lhs", data, a.lhs_begin, a.lhs_end);
  const Shape sizes = axes_between(c, "rhs", c.operand(1).shape(), a.rhs_begin, a.rhs_end);
  const auto first =
      static_cast<ptrdiff_t>(a.lhs_begin < 0 ? a.lhs_begin + static_cast<int64_t>(data.size()) : a.lhs_begin);
  Shape shape(data.begin(), data.begin() + first);
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  shape.insert(shape.end(), data.begin() + first + static_cast<ptrdiff_t>(replaced.size()), data.end());
  return c.reshape(c.operand(0), shape);
}

Value slice_like(const SliceLikeAttrs& a, Composition& c) {
  const Value x = c.operand(0), like = c.operand(1);
  std::vector<int64_t> axes = a.axes;
  if (axes.empty()) {
    c.require(check_rank(like.type, "shape_like", x.rank()));
    for (int k = 0; k < x.rank(); ++k) axes.push_back(k);
  }
  c.require(first_of({check_axes("axes", axes, x.rank()), check_axes("axes", axes, like.rank())}));
  Shape end;
  for (int64_t axis : axes) {
    const Dim size = like.shape()[wrap_axis(axis, like.rank())], data = x.shape()[wrap_axis(axis, x.rank())];
    if (provably_lt(data, size))
      c.fail(shape_error(
          fmt::format("shape_like has size {} along axis {}, the data only {}", size.str(), axis, data.str())));
    end.push_back(size);
  }
  return c.call("strided_slice", {x},
                {{"begin", std::vector<int64_t>(axes.size(), 0)}, {"end", sizes_attribute(end)}, {"axes", axes}});
}

// The sums over the axes along which the shape was broadcast to that of the data.
Value collapsed(Composition& c, const Value& x, const Shape& shape) {
  c.require(check_type(x.type, "data", types::number));
  const Checked<Shape> whole = broadcast(x.shape(), shape);
  if (std::get_if<TypeError>(&whole) || std::get<Shape>(whole) != x.shape())
    c.fail(shape_error(fmt::format("shape {} cannot be broadcast to the data's shape {}", str(shape), str(x.shape()))));
  const size_t lead = x.shape().size() - shape.size();
  std::vector<int64_t> axes;
  for (size_t k = 0; k < x.shape().size(); ++k)
    if (k < lead || (shape[k - lead] == Dim(1) && !(x.shape()[k] == Dim(1)))) axes.push_back(static_cast<int64_t>(k));
  return axes.empty() ? x : c.reshape(c.call("sum", {x}, {{"axis", axes}, {"keepdims", true}}), shape);
}

Value collapse_sum_like(const NoAttrs&, Composition& c) { return collapsed(c, c.operand(0), c.operand(1).shape()); }

Value collapse_sum_to(const CollapseSumToAttrs& a, Composition& c) {
  if (c.operand_count() > 1)
    c.fail({DiagnosticId::dynamic_shape, "the shape must be known at compile time", "make the shape a constant"});
  return collapsed(c, c.operand(0), a.shape);
}

Value ndarray_size(const NdarraySizeAttrs& a, Composition& c) {
  c.require(check_type({{}, a.dtype}, "dtype", types::number));
  const DType type = a.dtype;
  return c.compute(type, {}, {c.operand(0)}, [type](const std::vector<Tensor>& args, Index) {
    return cast(tensor::compute_type(type), Expr(product(args[0].shape())));
  });
}

void add_like(OperatorTable& table, const char* name, const char* summary, std::vector<std::string> arguments,
              Value (*make)(const NoAttrs&, Composition&)) {
  table.add(composed<NoAttrs>({.name = name, .summary = summary, .arguments = std::move(arguments)}, make));
}

}  // namespace

void like(OperatorTable& table) {
  add_like(table, "broadcast_to_like", "the data broadcast to the shape of another tensor", {"data", "broadcast_type"},
           broadcast_to_like);
  add_like(table, "cast_like", "the data converted to the element type of another tensor", {"data", "dtype_like"},
           cast_like);
  add_like(table, "full_like", "a tensor of the data's shape and element type whose elements are all the given scalar",
           {"data", "fill_value"}, full_like);
  add_like(table, "collapse_sum_like",
           "the sums over the axes along which a tensor of another one's shape is broadcast to the data",
           {"data", "collapse_type"}, collapse_sum_like);
  table.add(composed<CollapseSumToAttrs>(
      {.name = "collapse_sum_to",
       .summary = "the sums over the axes along which a tensor of the given shape is broadcast to the data",
       .attributes = {{"shape", &CollapseSumToAttrs::shape, "the result's shape", true}},
       .arguments = {"data"},
       .values = {"shape"}},
      collapse_sum_to));
  using R = ReshapeLikeAttrs;
  table.add(composed<R>({.name = "reshape_like",
                         .summary = "the same elements in row-major order with sizes of another tensor",
                         .attributes = {{"lhs_begin", &R::lhs_begin, "the first axis of the data that is replaced"},
                                        {"lhs_end", &R::lhs_end, "the axis after the last one that is replaced"},
                                        {"rhs_begin", &R::rhs_begin, "the first axis whose size is taken"},
                                        {"rhs_end", &R::rhs_end, "the axis after the last one whose size is taken"}},
                         .arguments = {"data", "shape_like"}},
                        reshape_like));
  table.add(composed<SliceLikeAttrs>({.name = "slice_like",
                                      .summary = "the first elements of axes, as many as another tensor has",
                                      .attributes = {{"axes", &SliceLikeAttrs::axes, "the axes to cut; all if empty"}},
                                      .arguments = {"data", "shape_like"}},
                                     slice_like));
  table.add(composed<NdarraySizeAttrs>({.name = "ndarray_size",
                                        .summary = "the number of elements",
                                        .attributes = {{"dtype", &NdarraySizeAttrs::dtype, "the result's type"}},
                                        .arguments = {"data"}},
                                       ndarray_size));
}

}  // namespace dlcc::relay::ops
