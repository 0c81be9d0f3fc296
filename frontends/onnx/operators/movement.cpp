// Operators that move elements: Concat, Split, Slice, Pad, Gather, Tile.
#include <algorithm>

#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/split.h"
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

// ---- lists that are known only at run time ------------------------------------------------------------------------

// A list of length `rank`: the element of `values` for each axis in `axes`, `otherwise` for the other axes.
Value spread_over_axes(Node& n, const Value& values, const Value& axes, int64_t rank, int64_t otherwise) {
  std::vector<int64_t> numbers(static_cast<size_t>(rank));
  for (int64_t k = 0; k < rank; ++k) numbers[k] = k;
  Value all = Value::of(Constant::of(dtype::i64, {rank, 1}, numbers));
  Value at = n.cast(axes, dtype::i64), zero = n.scalar(dtype::i64, 0),
        count = n.scalar(dtype::i64, static_cast<double>(rank));
  at = n.call("where", {n.call("less", {at, zero}), n.call("add", {at, count}), at});
  Value named = n.call("equal", {all, at});  // [rank, number of axes]
  Value chosen = n.call("where", {named, n.cast(values, dtype::i64), zero});
  Value sum = n.call("sum", {chosen}, {{"axis", relay::AttrList{1}}});
  Value fallback = Value::of(Constant::of<int64_t>(dtype::i64, {}, {otherwise}));
  return n.call("where", {n.call("any", {named}, {{"axis", relay::AttrList{1}}}), sum, fallback});
}

// The length of a list whose elements are known only at run time.
std::optional<int64_t> list_length(Node& n, const Value& list, int64_t longest) {
  auto length = list.rank() == 1 ? list.type.shape[0].constant() : std::nullopt;
  n.check(length && *length <= longest, DiagnosticId::shape_mismatch,
          fmt::format("{} must have at most {} elements, found {}", list.role, longest, describe(list.type)));
  return n.failed() ? std::nullopt : length;
}

Value part(Node& n, const Value& list, int64_t begin, int64_t end) {
  return n.call("strided_slice", {list}, {{"begin", relay::AttrList{begin}}, {"end", relay::AttrList{end}}});
}

// ---- Split --------------------------------------------------------------------------------------------------------

// The default sizes of the outputs: equal; since operator set 18 the last one may be smaller.
std::optional<std::vector<int64_t>> default_pieces(Node& n, int64_t extent, int64_t count) {
  int64_t size = extent / count + (extent % count != 0);
  if (!n.check(extent % count == 0 || n.opset() >= 18, DiagnosticId::shape_mismatch,
               fmt::format("{} elements cannot be split into {} equal pieces", extent, count)))
    return std::nullopt;
  std::vector<int64_t> pieces(count, size);
  for (int64_t k = 0; k < count; ++k) pieces[k] = std::clamp(extent - k * size, int64_t{0}, size);
  return pieces;
}

// Sizes that are not numbers at compile time. A run checks that each piece is within the axis, and that the last one
// has what the others leave.
Values split_at_run_time(Node& n, const Value& sizes, int64_t axis) {
  const Value& x = n.in(0);
  Values results;
  const int64_t count = n.output_count();
  const auto length = list_length(n, sizes, count);
  if (!length || !n.check(*length == count, DiagnosticId::wrong_arity,
                          fmt::format("there are {} sizes for {} outputs", *length, count)))
    return {};
  Value begin = Value::of(Constant::of<int64_t>(dtype::i64, {1}, {0}));
  Value step = Value::of(Constant::of<int64_t>(dtype::i64, {1}, {1}));
  Shape last = x.type.shape;
  for (int64_t k = 0; k < count && !n.failed(); ++k) {
    Value end = n.call("add", {begin, n.cast(part(n, sizes, k, k + 1), dtype::i64)});
    results.push_back(
        n.call("strided_slice", {x, begin, end, step}, {{"axes", relay::AttrList{axis}}, {"strict", true}}));
    if (!n.failed() && k + 1 < count) last[axis] = last[axis] - results.back().type.shape[axis];
    begin = end;
  }
  if (n.failed()) return {};
  const auto rest = n.with_shape(results.back(), last);
  if (!n.check(rest.has_value(), DiagnosticId::shape_mismatch,
               fmt::format("the last piece has the shape {}, not {}", str(results.back().type.shape), str(last))))
    return {};
  results.back() = *rest;
  return results;
}

// An axis of symbolic size in `count` pieces: equal ones, or since operator set 18 with a smaller last one.
Values split_symbolic(Node& n, const Value& x, int64_t axis, int64_t count) {
  if (n.opset() < 18)
    return n.call_fields("split", {x}, {{"indices_or_sections", count}, {"axis", axis}}, static_cast<size_t>(count));
  const Dim size = floor_div(x.type.shape[axis] + Dim(count - 1), count);
  Values results;
  for (int64_t k = 0; k < count; ++k)
    results.push_back(n.call("strided_slice", {x},
                             {{"begin", relay::sizes_attribute({size * Dim(k)})},
                              {"end", relay::sizes_attribute({size * Dim(k + 1)})},
                              {"axes", relay::AttrList{axis}}}));
  return results;
}

Values split(Node& n, const ListArgument& sizes) {
  int64_t count = n.output_count();
  auto axis = n.axis_of(n.integer("axis", 0), n.in(0).rank());
  n.check(count > 0, DiagnosticId::wrong_arity, "there are no outputs");
  if (n.failed()) return {};
  if (sizes.dynamic()) return split_at_run_time(n, n.in(1), *axis);
  const Value& x = n.in(0);
  auto extent = x.type.shape[*axis].constant();
  if (!extent && !sizes.given) return count == 1 ? Values{x} : split_symbolic(n, x, *axis, count);
  auto pieces = sizes.given ? sizes.known : default_pieces(n, *extent, count);
  if (!pieces) return {};
  n.check(static_cast<int64_t>(pieces->size()) == count, DiagnosticId::wrong_arity,
          fmt::format("there are {} sizes for {} outputs", pieces->size(), count));
  return split_into(n, *pieces, *axis);
}

// In operator set 1 the sizes may also be an input, which has the float type of the data.
Values convert_split_by_attribute(Node& n) {
  if (!n.has(1)) return split(n, list_attribute(n, "split"));
  if (const Constant* sizes = n.in(1).constant(); sizes && is_float(sizes->dtype())) {
    std::vector<int64_t> list;
    for (int64_t k = 0; k < sizes->count(); ++k) list.push_back(static_cast<int64_t>(sizes->number_at(k)));
    n.context().inputs[1] = integers(list);
  }
  return split(n, list_input(n, 1));
}

Values convert_split(Node& n) {
  if (n.has_attr("num_outputs")) {
    n.check(!n.has(1), DiagnosticId::bad_attribute, "'split' and 'num_outputs' exclude each other");
    n.check(n.integer("num_outputs", 0) == n.output_count(), DiagnosticId::wrong_arity,
            fmt::format("num_outputs is {}, but there are {} outputs", n.integer("num_outputs", 0), n.output_count()));
  }
  return split(n, list_input(n, 1));
}

// ---- Slice --------------------------------------------------------------------------------------------------------

// If an axis occurs twice, its last occurrence counts. Since operator set 10 that is undefined.
void keep_last_of_each_axis(std::vector<int64_t>& starts, std::vector<int64_t>& ends, std::vector<int64_t>& axes) {
  for (size_t k = 0; k < axes.size();) {
    bool again = std::find(axes.begin() + static_cast<ptrdiff_t>(k) + 1, axes.end(), axes[k]) != axes.end();
    for (auto* list : {&starts, &ends, &axes})
      if (again) list->erase(list->begin() + static_cast<ptrdiff_t>(k));
    k += !again;
  }
}

Values convert_slice_by_attribute(Node& n) {
  auto starts = n.integers("starts"), ends = n.integers("ends"), axes = n.integers("axes");
  if (!n.check(starts && ends, DiagnosticId::bad_attribute, "attribute 'starts' or 'ends' is missing")) return {};
  if (axes && axes->size() == starts->size() && axes->size() == ends->size())
    keep_last_of_each_axis(*starts, *ends, *axes);
  relay::Attrs attrs = {{"begin", *starts}, {"end", *ends}};
  if (axes) attrs["axes"] = *axes;
  return {n.call("strided_slice", {n.in(0)}, attrs)};
}

// With a negative step, the standard clamps a start before the first element to that element; strided_slice clamps it
// as numpy does, to one before. These are the starts for which both agree, as numbers or sizes.
relay::AttrValue starts_within(const Shape& data, const std::vector<int64_t>& starts, const std::vector<int64_t>& axes,
                               const std::vector<int64_t>& steps) {
  Shape within(starts.begin(), starts.end());
  const auto rank = static_cast<int64_t>(data.size());
  for (size_t k = 0; k < starts.size() && k < steps.size(); ++k) {
    const int64_t axis = k < axes.size() ? axes[k] : static_cast<int64_t>(k);
    if (steps[k] >= 0 || starts[k] >= 0 || axis >= rank || axis < -rank) continue;
    const Dim start = std::max(starts[k], -tensor::max_elements);  // before the first element of any axis
    const Dim from_first = data[static_cast<size_t>(axis < 0 ? axis + rank : axis)] + start;
    if (!provably_le(0, from_first)) within[k] = max(from_first, 0);
  }
  return relay::sizes_attribute(within);
}

// The same for bounds that are no numbers at compile time. `sizes` are those of the sliced axes.
Value starts_within(Node& n, const Value& starts, const Value& sizes, const Value& steps) {
  const relay::KnownValue known = n.context().builder.known(steps);
  const bool goes_forward = known && std::ranges::all_of(known->elements, [](const std::optional<Dim>& step) {
                              return step && provably_le(1, *step);
                            });
  if (goes_forward) return starts;
  const Value zero = n.scalar(dtype::i64, 0), start = n.cast(starts, dtype::i64), step = n.cast(steps, dtype::i64);
  const Value counts_from_end = n.call("less", {start, zero}), goes_back = n.call("less", {step, zero});
  return n.call("where", {n.call("logical_and", {counts_from_end, goes_back}),
                          n.call("maximum", {n.call("add", {start, sizes}), zero}), start});
}

// Slices with bounds, and possibly axes, that are no numbers at compile time.
Values slice_at_run_time(Node& n, const ListArgument& axes) {
  int64_t rank = n.in(0).rank();
  auto count = list_length(n, n.in(1), rank);
  if (!count) return {};
  Value starts = n.in(1), ends = n.in(2);
  Value steps = n.has(4) ? n.in(4) : n.call("full", {n.scalar(dtype::i64, 1)}, {{"shape", relay::AttrList{*count}}});
  relay::Attrs attrs;
  Value sizes = n.call("shape_of", {n.in(0)}, {{"dtype", "int64"}});
  if (axes.known) {
    attrs["axes"] = *axes.known;
    sizes = n.call("take", {sizes, integers(*axes.known)}, {{"axis", 0}, {"mode", "wrap"}});
  } else if (!axes.dynamic()) {
    sizes = part(n, sizes, 0, *count);
  }
  if (axes.dynamic()) {
    starts = spread_over_axes(n, starts, n.in(3), rank, 0);
    ends = spread_over_axes(n, ends, n.in(3), rank, INT64_MAX);
    steps = spread_over_axes(n, steps, n.in(3), rank, 1);
  }
  return {n.call("strided_slice", {n.in(0), starts_within(n, starts, sizes, steps), ends, steps}, attrs)};
}

Values convert_slice(Node& n) {
  ListArgument starts = list_input(n, 1), ends = list_input(n, 2), axes = list_input(n, 3), steps = list_input(n, 4);
  if (n.failed()) return {};
  if (starts.dynamic() || ends.dynamic() || axes.dynamic() || steps.dynamic()) return slice_at_run_time(n, axes);
  const std::vector<int64_t> none, &known_axes = axes.given ? *axes.known : none;
  relay::Attrs attrs = {{"begin", *starts.known}, {"end", *ends.known}};
  if (axes.given) attrs["axes"] = *axes.known;
  if (steps.given) {
    attrs["strides"] = *steps.known;
    attrs["begin"] = starts_within(n.in(0).type.shape, *starts.known, known_axes, *steps.known);
  }
  return {n.call("strided_slice", {n.in(0)}, attrs)};
}

// ---- Pad ----------------------------------------------------------------------------------------------------------

// `pads`: the padding before each axis, then after each axis, for the given axes or all.
Values pad(Node& n, const std::vector<int64_t>& pads, const std::optional<std::vector<int64_t>>& axes,
           const std::string& mode, const Value& value) {
  int64_t rank = n.in(0).rank();
  std::vector<int64_t> padded;
  for (int64_t k = 0; !axes && k < rank; ++k) padded.push_back(k);
  for (int64_t axis : axes.value_or(std::vector<int64_t>{}))
    if (auto known = n.axis_of(axis, rank)) padded.push_back(*known);
  n.check(pads.size() == 2 * padded.size(), DiagnosticId::bad_attribute,
          fmt::format("there must be two pads for each of {} axes, found {}", padded.size(), pads.size()));
  if (n.failed()) return {};
  relay::AttrList widths(static_cast<size_t>(rank), relay::AttrList{0, 0});
  std::vector<bool> named(static_cast<size_t>(rank));
  for (size_t k = 0; k < padded.size(); ++k) {
    n.check(!named[padded[k]], DiagnosticId::bad_attribute, fmt::format("axis {} is named twice", padded[k]));
    named[padded[k]] = true;
    widths[padded[k]] = relay::AttrList{pads[k], pads[k + padded.size()]};
  }
  return {n.call("nn.pad", {n.in(0), value}, {{"pad_width", widths}, {"pad_mode", mode}})};
}

std::string pad_mode(Node& n) {
  std::string mode = n.text("mode", "constant");
  n.check(mode == "constant" || mode == "reflect" || mode == "edge" || (mode == "wrap" && n.opset() >= 19),
          DiagnosticId::bad_attribute, fmt::format("mode is '{}'", mode),
          "it is constant, reflect, edge, or since version 19 wrap");
  return mode;
}

Values convert_pad_by_attribute(Node& n) {
  auto pads = n.integers(n.opset() == 1 ? "paddings" : "pads");
  n.check(pads.has_value(), DiagnosticId::bad_attribute, "attribute 'pads' is missing");
  std::string mode = pad_mode(n);
  Value value = n.scalar(n.in(0).type.dtype, n.number("value", 0));
  return pads ? pad(n, *pads, std::nullopt, mode, value) : Values{};
}

// The input `pads`, whose elements are no numbers at compile time, with a row (before, after) for each axis of the
// data.
Value pad_rows(Node& n, const ListArgument& axes) {
  const Value& pads = n.in(1);
  const int64_t rank = n.in(0).rank();
  auto count = list_length(n, pads, 2 * rank);
  if (!count) return Value::poison();
  Value sides[] = {part(n, pads, 0, *count / 2), part(n, pads, *count / 2, *count)};
  for (Value& side : sides) {
    if (axes.given) side = spread_over_axes(n, side, n.in(3), rank, 0);
    side = n.call("expand_dims", {side}, {{"axis", 1}});
  }
  return n.call("concatenate", {sides[0], sides[1]}, {{"axis", 1}});
}

Values convert_pad(Node& n) {
  const Value& x = n.in(0);
  std::string mode = pad_mode(n);
  Value value = n.has(2) ? n.reshape(n.in(2), {}) : n.scalar(x.type.dtype, 0);
  ListArgument pads = list_input(n, 1), axes = list_input(n, 3);
  if (n.failed()) return {};
  if (pads.known && !axes.dynamic()) return pad(n, *pads.known, axes.known, mode, value);
  return {n.call("nn.pad", {x, value, pad_rows(n, axes)}, {{"pad_mode", mode}})};
}

// ---- Tile ---------------------------------------------------------------------------------------------------------

// Operator sets 1 to 5: `tiles` repetitions of one axis; both are inputs.
Values convert_tile_of_axis(Node& n) {
  const int64_t rank = n.in(0).rank();
  auto number = [&](int input) { return n.reshape(n.cast(n.in(input), dtype::i64), {1}); };
  return {n.call("tile", {n.in(0), spread_over_axes(n, number(1), number(2), rank, 1)})};
}

Values convert_tile(Node& n) {
  n.check(n.require_shape(1, {Dim(n.in(0).rank())}), DiagnosticId::shape_mismatch,
          fmt::format("repeats must be a list with one element for each of the {} axes of input, found {}",
                      n.in(0).rank(), describe(n.in(1).type)));
  return {n.call("tile", {n.in(0), n.in(1)})};
}

}  // namespace

void add_movement(Table& table) {
  table.add({
      {"Concat", 1, "inputs", 1, any_number, 1, convert_concat},
      {"Gather", 1, "data indices", 2, 2, 1, convert_gather},
      {"Split", 1, "input split", 1, 2, any_number, convert_split_by_attribute},
      {"Split", 2, "input", 1, 1, any_number, convert_split_by_attribute},
      {"Split", 13, "input split", 1, 2, any_number, convert_split},
      {"Slice", 1, "data", 1, 1, 1, convert_slice_by_attribute},
      {"Slice", 10, "data starts ends axes steps", 3, 5, 1, convert_slice},
      {"Pad", 1, "data", 1, 1, 1, moving(convert_pad_by_attribute)},
      {"Pad", 11, "data pads constant_value", 2, 3, 1, moving(convert_pad)},
      {"Pad", 18, "data pads constant_value axes", 2, 4, 1, moving(convert_pad)},
      {"Tile", 1, "input tiles axis", 3, 3, 1, convert_tile_of_axis},
      {"Tile", 6, "input repeats", 2, 2, 1, convert_tile},
  });
}

}  // namespace dlcc::frontends::onnx
