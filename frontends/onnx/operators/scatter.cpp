// Operators whose results are no functions of the index: Scatter*, MaxUnpool, selection (NonZero, Compress, Unique,
// TopK, NonMaxSuppression), CumSum, CumProd; and TensorScatter.
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// ---- scatter ------------------------------------------------------------------------------------------------------

// The operator's name of a combination; "none" replaces.
std::string combination(Node& n, int64_t since_extrema) {
  const std::string name = n.text("reduction", "none");
  const bool is_extremum = name == "min" || name == "max";
  n.check(name == "none" || name == "add" || name == "mul" || (is_extremum && n.opset() >= since_extrema),
          DiagnosticId::bad_attribute, fmt::format("reduction is '{}'", name),
          fmt::format("it is none, add, mul, or since version {} min or max", since_extrema));
  return name == "none" ? "update" : name;
}

Values convert_scatter_elements(Node& n) {
  return {
      n.call("scatter_elements", n.all_inputs(), {{"axis", n.integer("axis", 0)}, {"reduction", combination(n, 18)}})};
}

Values convert_scatter(Node& n) {
  return {n.call("scatter_elements", n.all_inputs(), {{"axis", n.integer("axis", 0)}})};
}

// The standard has the components of a position along the last axis, the operator along the first.
Values convert_scatter_nd(Node& n) {
  Value indices = n.in(1);
  if (!n.check(indices.rank() > 0, DiagnosticId::shape_mismatch, "indices must have an axis")) return {};
  std::vector<int64_t> axes = {indices.rank() - 1};
  for (int64_t k = 0; k + 1 < indices.rank(); ++k) axes.push_back(k);
  if (axes.size() > 1) indices = n.call("transpose", {indices}, {{"axes", axes}});
  return {n.call("scatter_nd", {n.in(0), indices, n.in(2)}, {{"mode", combination(n, 18)}})};
}

Values convert_tensor_scatter(Node& n) {
  const std::string mode = n.text("mode", "linear");
  n.check(mode == "linear" || mode == "circular", DiagnosticId::bad_attribute, fmt::format("mode is '{}'", mode),
          "it is linear or circular");
  if (n.failed() || n.in(0).rank() == 0) return {};
  Value starts =
      n.has(2) ? n.in(2) : n.call("full", {n.scalar(dtype::i64, 0)}, {{"shape", shape_attr({n.in(0).type.shape[0]})}});
  return {n.call("tensor_scatter", {n.in(0), n.in(1), starts},
                 {{"axis", n.integer("axis", -2)}, {"circular", mode == "circular"}})};
}

// The result has zeros and, at the flat index that belongs to each element of X, that element.
Values convert_max_unpool(Node& n) {
  const Value& x = n.in(0);
  auto kernel = n.integers("kernel_shape");
  if (!n.check(kernel.has_value(), DiagnosticId::bad_attribute, "attribute 'kernel_shape' is missing")) return {};
  const size_t spatial = kernel->size();
  n.check(x.rank() == static_cast<int64_t>(spatial) + 2, DiagnosticId::shape_mismatch,
          fmt::format("X must have rank {}, found {}", spatial + 2, describe(x.type)));
  const auto strides = n.integers("strides", spatial, 1), pads = n.integers("pads", 2 * spatial, 0);
  ListArgument given = list_input(n, 2);
  if (n.failed()) return {};
  Shape inferred = x.type.shape, result;
  for (size_t k = 0; k < spatial; ++k)
    inferred[k + 2] =
        (x.type.shape[k + 2] - Dim(1)) * Dim(strides[k]) + Dim((*kernel)[k] - pads[k] - pads[k + spatial]);
  if (given.given && given.known) {
    n.check(given.known->size() == spatial + 2, DiagnosticId::shape_mismatch,
            fmt::format("output_shape has {} elements for {} dimensions", given.known->size(), spatial + 2));
    if (n.failed()) return {};
    result = shape_of(*given.known);
  } else {
    result = inferred;
  }
  // The indices count positions of the inferred shape. In a larger one they are mapped by their coordinates.
  Value flat_indices = n.reshape(n.in(1), {product(x.type.shape)});
  Value zeros = n.call("full", {n.scalar(x.type.dtype, 0)}, {{"shape", shape_attr({product(inferred)})}});
  Value flat = n.call("scatter_elements", {zeros, flat_indices, n.reshape(x, {product(x.type.shape)})});
  Value placed = n.reshape(flat, inferred);
  const Value zero = n.scalar(x.type.dtype, 0);
  if (given.dynamic()) {  // padded behind to the size that is an operand
    if (!n.check(is_static(inferred), DiagnosticId::dynamic_shape, "output_shape is not a constant")) return {};
    const auto sizes = static_shape(inferred);
    const auto rank = static_cast<int64_t>(sizes.size());
    const Value before = Value::of(Constant::of(dtype::i64, {rank, 1}, std::vector<int64_t>(sizes.size()))),
                least = Value::of(Constant::of(dtype::i64, {rank}, sizes));
    const Value after = n.reshape(n.call("subtract", {n.in(2), least}), {rank, 1});
    return {n.call("nn.pad", {placed, zero, n.call("concatenate", {before, after}, {{"axis", 1}})})};
  }
  if (result == inferred) return {placed};
  relay::AttrList widths;
  for (size_t k = 0; k < result.size(); ++k) {
    auto after = (result[k] - inferred[k]).constant();
    if (!n.check(after && *after >= 0, DiagnosticId::shape_mismatch,
                 fmt::format("output_shape {} is smaller than the inferred shape {}", str(result), str(inferred))))
      return {};
    widths.push_back(relay::AttrList{0, *after});
  }
  return {n.call("nn.pad", {placed, zero}, {{"pad_width", widths}})};
}

// ---- selection ----------------------------------------------------------------------------------------------------

// The positions of elements that are not zero, one in each row.
Value positions(Node& n, const Value& condition) {
  Values found = n.call_fields("argwhere", {condition}, {}, 2);
  return n.call("prefix", found);
}

Values convert_non_zero(Node& n) {
  return {n.call("transpose", {positions(n, n.in(0))}, {{"axes", relay::AttrList{1, 0}}})};
}

// The slices at which the condition holds. The condition may be shorter than the axis.
Values convert_compress(Node& n) {
  Value x = n.in(0);
  std::optional<int64_t> axis = 0;
  if (n.has_attr("axis"))
    axis = n.axis_of(n.integer("axis", 0), x.rank());
  else
    x = n.reshape(x, {product(x.type.shape)});
  n.check(n.in(1).rank() == 1, DiagnosticId::shape_mismatch,
          fmt::format("condition must have rank 1, found {}", describe(n.in(1).type)));
  if (n.failed()) return {};
  const Value rows = positions(n, n.in(1));
  if (n.failed()) return {};
  const Value at = n.reshape(rows, {rows.type.shape[0]});
  return {n.call("take", {x, at}, {{"axis", *axis}, {"mode", "strict"}})};
}

// ---- order --------------------------------------------------------------------------------------------------------

Values top_k(Node& n, const Dim& k) {
  relay::Attrs attrs = {{"axis", n.integer("axis", -1)}, {"dtype", "int64"}, {"k", shape_attr({k})}};
  if (n.opset() >= 11) attrs["is_ascend"] = !n.flag("largest", true);
  n.ignore("sorted");  // sorted results are valid, too, where the order is free
  return n.call_fields("topk", {n.in(0)}, attrs, 2);
}

Values convert_top_k_by_attribute(Node& n) { return top_k(n, n.required_integer("k")); }

// A number that is known only at run time: the first elements of the sorted axis.
Values convert_top_k(Node& n) {
  const relay::KnownValue k = n.context().builder.known(n.in(1));
  if (k && k->elements.size() == 1 && k->elements[0]) return top_k(n, *k->elements[0]);
  auto axis = n.axis_of(n.integer("axis", -1), n.in(0).rank());
  if (!axis) return {};
  Values results = top_k(n, n.in(0).type.shape[static_cast<size_t>(*axis)]);
  const Value end = n.reshape(n.in(1), {1}), zero = Value::of(Constant::of<int64_t>(dtype::i64, {1}, {0})),
              one = Value::of(Constant::of<int64_t>(dtype::i64, {1}, {1}));
  for (Value& r : results) r = n.call("strided_slice", {r, zero, end, one}, {{"axes", relay::AttrList{*axis}}});
  return results;
}

Values convert_unique(Node& n) {
  Value x = n.in(0);
  std::optional<int64_t> axis = 0;
  if (n.has_attr("axis"))
    axis = n.axis_of(n.integer("axis", 0), x.rank());
  else
    x = n.reshape(x, {product(x.type.shape)});
  const bool is_sorted = n.flag("sorted", true);
  if (n.failed()) return {};
  Values found = n.call_fields("unique", {x}, {{"axis", *axis}, {"is_sorted", is_sorted}}, 4);
  if (n.failed()) return {};
  const Value &inverse = found[1], &count = found[3];
  const Value first = n.call("prefix", {found[0], count});
  Values results = {n.call("take", {x, first}, {{"axis", *axis}, {"mode", "fast"}})};
  if (n.output_count() > 1) results.push_back(first);
  if (n.output_count() > 2) results.push_back(inverse);
  if (n.output_count() > 3) results.push_back(n.call("prefix", {found[2], count}));
  return results;
}

// ---- boxes --------------------------------------------------------------------------------------------------------

Values convert_non_max_suppression(Node& n) {
  auto threshold = [&](int input) { return n.has(input) ? n.reshape(n.in(input), {}) : n.scalar(dtype::f32, 0); };
  const bool by_center = n.flag("center_point_box", false);
  const Value most = n.has(2) ? n.reshape(n.in(2), {1}) : Value::of(Constant::of<int64_t>(dtype::i64, {1}, {0}));
  Values found = n.call_fields("vision.non_max_suppression", {n.in(0), n.in(1), threshold(3), threshold(4), most},
                               {{"center_point_box", by_center}, {"filter_scores", n.has(4)}}, 2);
  return {n.call("prefix", found)};
}

// ---- cumulative ---------------------------------------------------------------------------------------------------

Converter cumulative(const char* op) {
  return [op](Node& n) -> Values {
    return {n.call(op, {n.in(0), n.reshape(n.in(1), {})},
                   {{"exclusive", n.flag("exclusive", false)}, {"reverse", n.flag("reverse", false)}})};
  };
}

}  // namespace

void add_scatter(Table& table) {
  table.add({
      {"Scatter", 9, "data indices updates", 3, 3, 1, convert_scatter},
      {"ScatterElements", 11, "data indices updates", 3, 3, 1, convert_scatter_elements},
      {"ScatterND", 11, "data indices updates", 3, 3, 1, convert_scatter_nd},
      {"TensorScatter", 24, "past_cache update write_indices", 2, 3, 1, convert_tensor_scatter},
      {"MaxUnpool", 9, "X I output_shape", 2, 3, 1, convert_max_unpool},
      {"TopK", 1, "X", 1, 1, 2, convert_top_k_by_attribute},
      {"TopK", 10, "X K", 2, 2, 2, convert_top_k},
      {"NonZero", 9, "X", 1, 1, 1, convert_non_zero},
      {"Compress", 9, "input condition", 2, 2, 1, convert_compress},
      {"Unique", 11, "X", 1, 1, 4, convert_unique},
      {"NonMaxSuppression", 10, "boxes scores max_output_boxes_per_class iou_threshold score_threshold", 2, 5, 1,
       convert_non_max_suppression},
      {"CumSum", 11, "x axis", 2, 2, 1, cumulative("cumsum")},
      {"CumProd", 26, "x axis", 2, 2, 1, cumulative("cumprod")},
  });
}

}  // namespace dlcc::frontends::onnx
