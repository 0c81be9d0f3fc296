// Operators that move elements: Concat, Split, Slice, Pad, Gather.
#include <algorithm>

#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

Values convert_concat(Node& n) {
  int64_t axis = n.opset() < 4 ? n.integer("axis", 1) : n.required_integer("axis");
  return {n.call("concatenate", n.all_inputs(), {{"axis", axis}})};
}

Values convert_gather(Node& n) {
  return {n.call("take", {n.in(0), n.in(1)}, {{"axis", n.integer("axis", 0)}, {"mode", "strict"}})};
}

// ---- Split -------------------------------------------------------------------------------------------------------------

// Sizes of the pieces when none are given: equal, or since version 18 the last one smaller.
std::optional<std::vector<int64_t>> default_pieces(Node& n, int64_t extent, int64_t count) {
  int64_t size = extent / count + (extent % count != 0);
  if (!n.check(extent % count == 0 || n.opset() >= 18, DiagnosticId::shape_mismatch,
               fmt::format("{} elements cannot be split into {} equal pieces", extent, count)))
    return std::nullopt;
  std::vector<int64_t> pieces(count, size);
  for (int64_t k = 0; k < count; ++k) pieces[k] = std::clamp(extent - k * size, int64_t{0}, size);
  return pieces;
}

Values split(Node& n, const ListArgument& sizes) {
  const Value& x = n.in(0);
  int64_t count = n.output_count();
  auto axis = n.axis_of(n.integer("axis", 0), x.rank());
  n.check(!sizes.dynamic(), DiagnosticId::dynamic_shape, "the sizes of the pieces are only known at run time", "make 'split' a constant");
  n.check(count > 0, DiagnosticId::wrong_arity, "there are no outputs");
  if (n.failed()) return {};
  auto extent = x.type.shape[*axis].constant();
  if (!n.check(extent.has_value(), DiagnosticId::dynamic_shape, "the size of the axis that is split must be known at compile time",
               "give the size with --dim NAME=VALUE"))
    return {};
  auto pieces = sizes.given ? sizes.known : default_pieces(n, *extent, count);
  if (!pieces) return {};
  n.check(static_cast<int64_t>(pieces->size()) == count, DiagnosticId::wrong_arity,
          fmt::format("there are {} sizes for {} outputs", pieces->size(), count));
  std::vector<int64_t> cuts;
  int64_t at = 0;
  for (int64_t size : *pieces) {
    if (!n.check(size >= 0 && size <= *extent - at, DiagnosticId::bad_attribute,
                 fmt::format("the sizes [{}] do not add up to {}", fmt::join(*pieces, ", "), *extent)))
      return {};
    cuts.push_back(at += size);
  }
  n.check(at == *extent, DiagnosticId::bad_attribute, fmt::format("the sizes [{}] do not add up to {}", fmt::join(*pieces, ", "), *extent));
  if (n.failed() || count == 1) return {x};
  cuts.pop_back();
  return n.call_fields("split", {x}, {{"indices_or_sections", cuts}, {"axis", *axis}}, static_cast<size_t>(count));
}

Values convert_split_by_attribute(Node& n) {
  return split(n, n.has(1) ? list_input(n, 1) : list_attribute(n, "split"));  // version 1 has both
}

Values convert_split(Node& n) {
  if (n.has_attr("num_outputs")) {
    n.check(!n.has(1), DiagnosticId::bad_attribute, "'split' and 'num_outputs' exclude each other");
    n.check(n.integer("num_outputs", 0) == n.output_count(), DiagnosticId::wrong_arity,
            fmt::format("num_outputs is {}, but there are {} outputs", n.integer("num_outputs", 0), n.output_count()));
  }
  return split(n, list_input(n, 1));
}

// ---- Slice -------------------------------------------------------------------------------------------------------------

Values convert_slice_by_attribute(Node& n) {
  auto starts = n.integers("starts"), ends = n.integers("ends"), axes = n.integers("axes");
  if (!n.check(starts && ends, DiagnosticId::bad_attribute, "attribute 'starts' or 'ends' is missing")) return {};
  relay::Attrs attrs = {{"begin", *starts}, {"end", *ends}};
  if (axes) attrs["axes"] = *axes;
  return {n.call("strided_slice", {n.in(0)}, attrs)};
}

// Bounds that are decided at run time; the axes are not.
Values slice_at_run_time(Node& n, const ListArgument& axes) {
  const Value &starts = n.in(1), &ends = n.in(2);
  n.check(!axes.dynamic(), DiagnosticId::dynamic_shape, "the axes that are sliced are only known at run time", "make 'axes' a constant");
  auto count = starts.rank() == 1 ? starts.type.shape[0].constant() : std::nullopt;
  if (!n.check(count && *count <= n.in(0).rank(), DiagnosticId::shape_mismatch, "'starts' must be a list with at most one element per axis"))
    return {};
  Value steps = n.has(4) ? n.in(4)
                         : Value::of(Constant::of(dtype::i64, {*count}, std::vector<int64_t>(static_cast<size_t>(*count), 1)));
  relay::Attrs attrs = {{"shape", declared_shape_attr(n, "the slice")}};
  if (axes.known) attrs["axes"] = *axes.known;
  return {n.call("dyn.strided_slice", {n.in(0), starts, ends, steps}, attrs)};
}

Values convert_slice(Node& n) {
  ListArgument starts = list_input(n, 1), ends = list_input(n, 2), axes = list_input(n, 3), steps = list_input(n, 4);
  if (starts.dynamic() || ends.dynamic() || axes.dynamic() || steps.dynamic()) return n.failed() ? Values{} : slice_at_run_time(n, axes);
  relay::Attrs attrs = {{"begin", *starts.known}, {"end", *ends.known}};
  if (axes.given) attrs["axes"] = *axes.known;
  if (steps.given) attrs["strides"] = *steps.known;
  return {n.call("strided_slice", {n.in(0)}, attrs)};
}

// ---- Pad ---------------------------------------------------------------------------------------------------------------

// `pads`: all before and then all after, for the axes named or all of them.
Values pad(Node& n, const std::vector<int64_t>& pads, const std::optional<std::vector<int64_t>>& axes, const std::string& mode,
           const Value& value) {
  int64_t rank = n.in(0).rank();
  std::vector<int64_t> places;
  for (int64_t k = 0; !axes && k < rank; ++k) places.push_back(k);
  for (int64_t axis : axes.value_or(std::vector<int64_t>{}))
    if (auto place = n.axis_of(axis, rank)) places.push_back(*place);
  n.check(pads.size() == 2 * places.size(), DiagnosticId::bad_attribute,
          fmt::format("there must be two pads for each of {} axes, found {}", places.size(), pads.size()));
  if (n.failed()) return {};
  relay::AttrList widths(static_cast<size_t>(rank), relay::AttrList{0, 0});
  std::vector<bool> named(static_cast<size_t>(rank));
  for (size_t k = 0; k < places.size(); ++k) {
    n.check(!named[places[k]], DiagnosticId::bad_attribute, fmt::format("axis {} is named twice", places[k]));
    named[places[k]] = true;
    widths[places[k]] = relay::AttrList{pads[k], pads[k + places.size()]};
  }
  return {n.call("nn.pad", {n.in(0), value}, {{"pad_width", widths}, {"pad_mode", mode}})};
}

std::string pad_mode(Node& n) {
  std::string mode = n.text("mode", "constant");
  n.check(mode == "constant" || mode == "reflect" || mode == "edge" || (mode == "wrap" && n.opset() >= 19), DiagnosticId::bad_attribute,
          fmt::format("mode is '{}'", mode), "it is constant, reflect, edge, or since version 19 wrap");
  return mode;
}

Values convert_pad_by_attribute(Node& n) {
  auto pads = n.integers(n.opset() == 1 ? "paddings" : "pads");
  n.check(pads.has_value(), DiagnosticId::bad_attribute, "attribute 'pads' is missing");
  std::string mode = pad_mode(n);
  Value value = n.scalar(n.in(0).type.dtype, n.number("value", 0));
  return pads ? pad(n, *pads, std::nullopt, mode, value) : Values{};
}

Values convert_pad(Node& n) {
  const Value& x = n.in(0);
  std::string mode = pad_mode(n);
  Value value = n.has(2) ? n.reshape(n.in(2), {}) : n.scalar(x.type.dtype, 0);
  ListArgument pads = list_input(n, 1), axes = list_input(n, 3);
  n.check(!axes.dynamic(), DiagnosticId::dynamic_shape, "the axes that are padded are only known at run time", "make 'axes' a constant");
  if (n.failed()) return {};
  if (pads.known) return pad(n, *pads.known, axes.known, mode, value);
  relay::Attrs attrs = {{"shape", declared_shape_attr(n, "the padding")}, {"pad_mode", mode}};
  if (axes.known) attrs["axes"] = *axes.known;
  return {n.call("dyn.nn.pad", {x, n.in(1), value}, attrs)};
}

}  // namespace

void add_movement(Table& table) {
  table.add({
      {"Concat", 1, 1, any_number, 1, convert_concat},
      {"Gather", 1, 2, 2, 1, convert_gather},
      {"Split", 1, 1, 2, any_number, convert_split_by_attribute},
      {"Split", 2, 1, 1, any_number, convert_split_by_attribute},
      {"Split", 13, 1, 2, any_number, convert_split},
      {"Slice", 1, 1, 1, 1, convert_slice_by_attribute},
      {"Slice", 10, 3, 5, 1, convert_slice},
      {"Pad", 1, 1, 1, 1, convert_pad_by_attribute},
      {"Pad", 11, 2, 3, 1, convert_pad},
      {"Pad", 18, 2, 4, 1, convert_pad},
  });
}

}  // namespace dlcc::frontends::onnx
