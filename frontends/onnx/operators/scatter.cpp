// Operators that store elements at computed positions: Scatter*, TensorScatter, MaxUnpool.
#include "frontends/onnx/operators/axes.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/subgraphs.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// The operator's name of a combination; "none" replaces.
std::string combination(Node& n, int64_t since_extrema) {
  const std::string name = n.text("reduction", "none");
  const bool is_extremum = name == "min" || name == "max";
  n.check(name == "none" || name == "add" || name == "mul" || (is_extremum && n.opset() >= since_extrema),
          DiagnosticId::bad_attribute, fmt::format("reduction is '{}'", name),
          fmt::format("it is none, add, mul, or since version {} min or max", since_extrema));
  return name == "none" ? "update" : name;
}

// Without a reduction elements are moved, of any type.
Converter combining(Converter convert) {
  return [numbers = bools_as(dtype::i32, convert), convert](Node& n) -> Values {
    return n.text("reduction", "none") == "none" ? convert(n) : numbers(n);
  };
}

Values convert_scatter_elements(Node& n) {
  return {
      n.call("scatter_elements", n.all_inputs(), {{"axis", n.integer("axis", 0)}, {"reduction", combination(n, 18)}})};
}

Values convert_scatter(Node& n) {
  return {n.call("scatter_elements", n.all_inputs(), {{"axis", n.integer("axis", 0)}})};
}

// Whether the node replaces one slice of the first axis.
bool replaces_one_slice(Node& n) {
  const Shape &data = n.in(0).type.shape, &indices = n.in(1).type.shape;
  if (data.empty() || !(product(indices) == Dim(1)) || n.text("reduction", "none") != "none") return false;
  Shape updates(indices.begin(), indices.end() - 1);
  updates.insert(updates.end(), data.begin() + 1, data.end());
  return n.in(2).type.shape == updates && n.in(1).type.dtype == dtype::i64;
}

// Loops store the rows of a list in this way, which they do in place.
Value replace_slice(Node& n) {
  const Value& data = n.in(0);
  const Value index = as_scalar(n, n.in(1)), zero = n.scalar(dtype::i64, 0);
  const Value from_end = n.call("add", {index, size_of_axis(n, data, 0)});
  const Value at = n.call("where", {n.call("less", {index, zero}), from_end, index});
  const Shape slice(data.type.shape.begin() + 1, data.type.shape.end());
  return n.call("dynamic_update_slice", {data, n.reshape(n.in(2), slice), at});
}

// The standard has the components of a position along the last axis, the operator along the first.
Values convert_scatter_nd(Node& n) {
  Value indices = n.in(1);
  if (!n.check(indices.rank() > 0, DiagnosticId::shape_mismatch, "indices must have an axis")) return {};
  if (replaces_one_slice(n)) return {replace_slice(n)};
  indices = with_axis_moved(n, indices, indices.rank() - 1, 0);
  return {n.call("scatter_nd", {n.in(0), indices, n.in(2)}, {{"mode", combination(n, 18)}})};
}

Values convert_tensor_scatter(Node& n) {
  const std::string mode = n.text("mode", "linear");
  n.check(mode == "linear" || mode == "circular", DiagnosticId::bad_attribute, fmt::format("mode is '{}'", mode),
          "it is linear or circular");
  n.check(n.in(0).rank() > 0, DiagnosticId::shape_mismatch, "past_cache must have an axis for the batch");
  if (n.failed()) return {};
  Value starts = n.has(2) ? n.in(2)
                          : n.call("full", {n.scalar(dtype::i64, 0)},
                                   {{"shape", relay::sizes_attribute({n.in(0).type.shape[0]})}});
  return {n.call("tensor_scatter", {n.in(0), n.in(1), starts},
                 {{"axis", n.integer("axis", -2)}, {"circular", mode == "circular"}})};
}

// ---- MaxUnpool ----------------------------------------------------------------------------------------------------

// The shape from which the pooling got X, if no window was cut off.
std::optional<Shape> shape_before_pooling(Node& n) {
  const Value& x = n.in(0);
  const auto kernel = n.integers("kernel_shape");
  if (!n.check(kernel.has_value(), DiagnosticId::bad_attribute, "attribute 'kernel_shape' is missing"))
    return std::nullopt;
  const size_t spatial = kernel->size();
  n.check(x.rank() == static_cast<int64_t>(spatial) + 2, DiagnosticId::shape_mismatch,
          fmt::format("X must have rank {}, found {}", spatial + 2, describe(x.type)));
  const auto strides = n.integers("strides", spatial, 1), pads = n.integers("pads", 2 * spatial, 0);
  if (n.failed()) return std::nullopt;
  Shape shape = x.type.shape;
  for (size_t k = 0; k < spatial; ++k)
    shape[k + 2] = (shape[k + 2] - Dim(1)) * Dim(strides[k]) + Dim((*kernel)[k] - pads[k] - pads[k + spatial]);
  return shape;
}

// The padding at the end of each axis that extends the shape `from` to `to`; for nn.pad.
std::optional<relay::AttrList> padding_behind(Node& n, const Shape& from, const Shape& to) {
  if (!n.check(from.size() == to.size(), DiagnosticId::shape_mismatch,
               fmt::format("output_shape has {} elements for {} dimensions", to.size(), from.size())))
    return std::nullopt;
  relay::AttrList widths;
  for (size_t k = 0; k < to.size(); ++k) {
    const auto after = (to[k] - from[k]).constant();
    if (!n.check(after && *after >= 0, DiagnosticId::shape_mismatch,
                 fmt::format("output_shape {} is smaller than the inferred shape {}", str(to), str(from))))
      return std::nullopt;
    widths.push_back(relay::AttrList{0, *after});
  }
  return widths;
}

// The same as an operand, for sizes that are an operand.
Value padding_behind(Node& n, const std::vector<int64_t>& from, const Value& to) {
  const auto rank = static_cast<int64_t>(from.size());
  const Value before = Value::of(Constant::of(dtype::i64, {rank, 1}, std::vector<int64_t>(from.size())));
  const Value after = n.reshape(n.call("subtract", {to, integers(from)}), {rank, 1});
  return n.call("concatenate", {before, after}, {{"axis", 1}});
}

// Zeros, and at the position that belongs to each element of X, that element. Positions count the elements of the shape
// before the pooling; a larger output is padded at the end of its axes.
Values convert_max_unpool(Node& n) {
  const Value& x = n.in(0);
  const auto inferred = shape_before_pooling(n);
  const ListArgument given = list_input(n, 2);
  if (!inferred || n.failed()) return {};
  const Value zero = n.scalar(x.type.dtype, 0);
  const Value zeros = n.call("full", {zero}, {{"shape", relay::sizes_attribute({product(*inferred)})}});
  const Shape flat = {product(x.type.shape)};
  const Value placed =
      n.reshape(n.call("scatter_elements", {zeros, n.reshape(n.in(1), flat), n.reshape(x, flat)}), *inferred);
  if (!given.given) return {placed};
  if (given.known) {
    const auto widths = padding_behind(n, *inferred, shape_of(*given.known));
    return widths ? Values{n.call("nn.pad", {placed, zero}, {{"pad_width", *widths}})} : Values{};
  }
  if (!n.check(is_static(*inferred), DiagnosticId::dynamic_shape, "output_shape is not a constant")) return {};
  return {n.call("nn.pad", {placed, zero, padding_behind(n, static_shape(*inferred), n.in(2))})};
}

}  // namespace

void add_scatter(Table& table) {
  table.add({
      {"Scatter", 9, "data indices updates", 3, 3, 1, convert_scatter},
      {"ScatterElements", 11, "data indices updates", 3, 3, 1, combining(convert_scatter_elements)},
      {"ScatterND", 11, "data indices updates", 3, 3, 1, combining(convert_scatter_nd)},
      {"TensorScatter", 24, "past_cache update write_indices", 2, 3, 1, moving(convert_tensor_scatter)},
      {"MaxUnpool", 9, "X I output_shape", 2, 3, 1, convert_max_unpool},
  });
  table.only_if("MaxUnpool", "output_shape and the sizes of X are known at compile time");
  table.only_if("ScatterND", "the number of axes that indices name is known at compile time");
}

}  // namespace dlcc::frontends::onnx
