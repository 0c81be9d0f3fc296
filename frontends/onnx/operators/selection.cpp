// Operators that select elements: NonZero, Compress, TopK, Unique, NonMaxSuppression. Most of them select a
// data-dependent number of elements: the largest possible result is computed together with its actual number of rows,
// and `prefix` takes these rows.
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// ---- by a condition ------------------------------------------------------------------------------------------------

// The positions of elements that are not zero, one in each row.
Value positions(Node& n, const Value& condition) {
  Values found = n.call_fields("nonzero", {condition}, {}, 2);
  return n.call("prefix", found);
}

Values convert_non_zero(Node& n) {
  return {n.call("transpose", {positions(n, n.in(0))}, {{"axes", relay::AttrList{1, 0}}})};
}

// X and the attribute axis; without it the elements of X as one axis.
struct AlongAxis {
  Value x;
  int64_t axis;
};
AlongAxis along_axis(Node& n) {
  const Value& x = n.in(0);
  if (!n.has_attr("axis")) return {n.reshape(x, {product(x.type.shape)}), 0};
  return {x, n.axis_of(n.integer("axis", 0), x.rank()).value_or(0)};
}

// The slices at which the condition holds. The condition may be shorter than the axis.
Values convert_compress(Node& n) {
  const auto [x, axis] = along_axis(n);
  n.check(n.in(1).rank() == 1, DiagnosticId::shape_mismatch,
          fmt::format("condition must have rank 1, found {}", describe(n.in(1).type)));
  if (n.failed()) return {};
  if (n.in(1).type.shape[0] == Dim(0))
    return {n.call("strided_slice", {x},
                   {{"begin", relay::AttrList{0}}, {"end", relay::AttrList{0}}, {"axes", relay::AttrList{axis}}})};
  const Value rows = positions(n, n.in(1));
  if (n.failed()) return {};
  const Value at = n.reshape(rows, {rows.type.shape[0]});
  return {n.call("take", {x, at}, {{"axis", axis}, {"mode", "strict"}})};
}

// ---- by order ------------------------------------------------------------------------------------------------------

Values top_k(Node& n, const Dim& k) {
  relay::Attrs attrs = {
      {"axis", n.integer("axis", -1)}, {"dtype", "int64"}, {"k", relay::sizes_attribute({k})}, {"all_below_1", false}};
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
  const Value count = n.reshape(n.in(1), {1});
  for (Value& r : results) r = n.call("prefix", {r, count}, {{"axis", *axis}});
  return results;
}

Values convert_unique(Node& n) {
  const auto [x, axis] = along_axis(n);
  const bool sorted = n.flag("sorted", true);
  if (n.failed()) return {};
  if (x.type.shape[static_cast<size_t>(axis)] == Dim(0)) return {x, integers({}), integers({}), integers({})};
  Values found = n.call_fields("unique_slices", {x}, {{"axis", axis}, {"sorted", sorted}}, 4);
  if (n.failed()) return {};
  const Value &inverse = found[1], &count = found[3];
  const Value first = n.call("prefix", {found[0], count});
  Values results = {n.call("take", {x, first}, {{"axis", axis}, {"mode", "fast"}})};
  if (n.output_count() > 1) results.push_back(first);
  if (n.output_count() > 2) results.push_back(inverse);
  if (n.output_count() > 3) results.push_back(n.call("prefix", {found[2], count}));
  return results;
}

// ---- boxes ---------------------------------------------------------------------------------------------------------

Values convert_non_max_suppression(Node& n) {
  auto threshold = [&](int input) { return n.has(input) ? n.reshape(n.in(input), {}) : n.scalar(dtype::f32, 0); };
  const bool by_center = n.flag("center_point_box", false);
  const Value most = n.has(2) ? n.reshape(n.in(2), {1}) : integers({0});
  Values found =
      n.call_fields("vision.non_max_suppression_per_class", {n.in(0), n.in(1), threshold(3), threshold(4), most},
                    {{"center_point_box", by_center}, {"filter_scores", n.has(4)}}, 2);
  return {n.call("prefix", found)};
}

}  // namespace

void add_selection(Table& table) {
  table.add({
      {"NonZero", 9, "X", 1, 1, 1, convert_non_zero},
      {"Compress", 9, "input condition", 2, 2, 1, convert_compress},
      {"TopK", 1, "X", 1, 1, 2, convert_top_k_by_attribute},
      {"TopK", 10, "X K", 2, 2, 2, convert_top_k},
      {"Unique", 11, "X", 1, 1, 4, convert_unique},
      {"NonMaxSuppression", 10, "boxes scores max_output_boxes_per_class iou_threshold score_threshold", 2, 5, 1,
       convert_non_max_suppression},
  });
}

}  // namespace dlcc::frontends::onnx
