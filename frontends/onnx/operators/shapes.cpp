// Operators that change only the shape: Reshape, Flatten, Squeeze, Unsqueeze, Transpose, Expand; Shape and Identity.
#include <algorithm>
#include <set>

#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

Values convert_identity(Node& n) { return {n.in(0)}; }

// ---- Reshape, Flatten ---------------------------------------------------------------------------------------------

Values reshape_to(Node& n, const std::vector<int64_t>& sizes, bool allow_zero) {
  bool zero = std::ranges::count(sizes, 0) > 0, rest = std::ranges::count(sizes, -1) > 0;
  n.check(!(allow_zero && zero && rest), DiagnosticId::bad_attribute,
          "with allowzero=1 the shape must not have both 0 and -1");
  relay::Attrs attrs = {{"newshape", sizes}};
  if (allow_zero && zero) attrs["allowzero"] = true;
  return {n.call("reshape", {n.in(0)}, attrs)};
}

Values convert_reshape_by_attribute(Node& n) {
  n.ignore("consumed_inputs");
  auto sizes = n.integers("shape");
  n.check(sizes.has_value(), DiagnosticId::bad_attribute, "attribute 'shape' is missing");
  return sizes ? reshape_to(n, *sizes, false) : Values{};
}

Values convert_reshape(Node& n) {
  bool allow_zero = n.flag("allowzero", false);
  auto sizes = n.integers_in(1);
  if (sizes) return reshape_to(n, *sizes, allow_zero);
  relay::Attrs attrs;
  if (allow_zero) attrs["allowzero"] = true;
  return {n.call("reshape", {n.in(0), n.in(1)}, attrs)};
}

Values convert_flatten(Node& n) {
  const Value& x = n.in(0);
  int64_t axis = n.integer("axis", 1), rank = x.rank();
  if (!n.check(axis >= -rank && axis <= rank, DiagnosticId::bad_attribute,
               fmt::format("axis {} is outside [{}, {}]", axis, -rank, rank)))
    return {};
  if (axis < 0) axis += rank;
  if (axis == 1) return {n.call("nn.batch_flatten", {x})};
  Shape rows(x.type.shape.begin(), x.type.shape.begin() + axis),
      columns(x.type.shape.begin() + axis, x.type.shape.end());
  return {n.reshape(x, {product(rows), product(columns)})};
}

// ---- axes of size 1 -----------------------------------------------------------------------------------------------

Values squeeze(Node& n, const ListArgument& axes) {
  if (axes.dynamic()) return {n.call("squeeze", {n.in(0), n.in(1)})};
  relay::Attrs attrs;
  if (axes.given) {
    attrs["axis"] = *axes.known;
    Shape shape = n.in(0).type.shape;
    const auto rank = static_cast<int64_t>(shape.size());
    for (int64_t axis : *axes.known)
      if (axis >= -rank && axis < rank) shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = 1;
    n.require_shape(0, shape);  // sizes that may be 1 must be 1 when the program runs
  }
  return {n.call("squeeze", {n.in(0)}, attrs)};
}

Values convert_squeeze_by_attribute(Node& n) { return squeeze(n, list_attribute(n, "axes")); }
Values convert_squeeze(Node& n) { return squeeze(n, list_input(n, 1)); }

// Inserts axes at the given positions of the result, adjacent ones with one call.
Value insert_axes(Node& n, const std::vector<int64_t>& axes) {
  int64_t rank = n.in(0).rank() + static_cast<int64_t>(axes.size());
  std::vector<int64_t> positions;
  for (int64_t axis : axes)
    if (auto position = n.axis_of(axis, rank)) positions.push_back(*position);
  std::ranges::sort(positions);
  n.check(std::ranges::adjacent_find(positions) == positions.end(), DiagnosticId::bad_attribute,
          "an axis is named twice");
  Value result = n.in(0);
  for (size_t k = 0; k < positions.size() && !n.failed();) {
    size_t run = 1;
    while (k + run < positions.size() && positions[k + run] == positions[k] + static_cast<int64_t>(run)) ++run;
    relay::Attrs attrs = {{"axis", positions[k]}};
    if (run > 1) attrs["num_newaxis"] = static_cast<int64_t>(run);
    result = n.call("expand_dims", {result}, attrs);
    k += run;
  }
  return result;
}

Values convert_unsqueeze_by_attribute(Node& n) {
  auto axes = n.integers("axes");
  n.check(axes.has_value(), DiagnosticId::bad_attribute, "attribute 'axes' is missing");
  return axes ? Values{insert_axes(n, *axes)} : Values{};
}

Values convert_unsqueeze(Node& n) {
  auto axes = n.integers_in(1);
  if (axes) return {insert_axes(n, *axes)};
  return {n.call("expand_dims", {n.in(0), n.in(1)})};
}

// ---- Transpose, Expand, Shape -------------------------------------------------------------------------------------

Values convert_transpose(Node& n) {
  std::vector<int64_t> axes = n.integers("perm").value_or(std::vector<int64_t>{});
  if (!n.has_attr("perm"))
    for (int64_t k = n.in(0).rank(); k-- > 0;) axes.push_back(k);
  n.check(static_cast<int>(axes.size()) == n.in(0).rank(), DiagnosticId::bad_attribute,
          fmt::format("attribute 'perm' must name all {} axes, found {}", n.in(0).rank(), axes.size()));
  std::set<int64_t> named;
  for (int64_t axis : axes)
    if (auto known = n.axis_of(axis, n.in(0).rank()))
      n.check(named.insert(*known).second, DiagnosticId::bad_attribute,
              fmt::format("attribute 'perm' has axis {} twice", axis),
              "it is the order of all axes: perm=[1, 0] exchanges those of a matrix");
  return {n.call("transpose", {n.in(0)}, {{"axes", axes}})};
}

// Whether broadcasting with these sizes leaves the shape as it is: each is 1 or the data's size.
bool keeps_shape(const Shape& data, const relay::KnownValue& sizes) {
  if (!sizes || sizes->elements.size() > data.size()) return false;
  return std::equal(sizes->elements.rbegin(), sizes->elements.rend(), data.rbegin(),
                    [](const std::optional<Dim>& size, const Dim& d) { return size == Dim(1) || size == d; });
}

Values convert_expand(Node& n) {
  const Value& x = n.in(0);
  n.integers_in(1);  // reports other types
  if (!n.failed() && keeps_shape(x.type.shape, n.context().builder.known(n.in(1)))) return {x};
  return {n.call("broadcast_to", {x, n.in(1)})};
}

// Elements [start, end) of the shape; bounds are clamped.
Values convert_shape(Node& n) {
  const Value& x = n.in(0);
  int64_t rank = x.rank(), start = n.integer("start", 0), end = n.integer("end", rank);
  auto clamp = [&](int64_t at) { return std::clamp(at < 0 ? at + rank : at, int64_t{0}, rank); };
  start = clamp(start);
  end = std::max(clamp(end), start);
  Value all = n.call("shape_of", {x}, {{"dtype", "int64"}});
  if (end - start == rank) return {all};
  return {n.call("strided_slice", {all}, {{"begin", relay::AttrList{start}}, {"end", relay::AttrList{end}}})};
}

// The number of elements.
Values convert_size(Node& n) {
  Value sizes = n.call("shape_of", {n.in(0)}, {{"dtype", "int64"}});
  return {n.call("prod", {sizes}, {{"axis", relay::AttrList{0}}})};
}

}  // namespace

void add_shapes(Table& table) {
  table.add({
      {"Reshape", 1, "data", 1, 1, 1, moving(convert_reshape_by_attribute)},
      {"Reshape", 5, "data shape", 2, 2, 1, moving(convert_reshape)},
      {"Flatten", 1, "input", 1, 1, 1, moving(convert_flatten)},
      {"Squeeze", 1, "data", 1, 1, 1, moving(convert_squeeze_by_attribute)},
      {"Squeeze", 13, "data axes", 1, 2, 1, moving(convert_squeeze)},
      {"Unsqueeze", 1, "data", 1, 1, 1, moving(convert_unsqueeze_by_attribute)},
      {"Unsqueeze", 13, "data axes", 2, 2, 1, moving(convert_unsqueeze)},
      {"Transpose", 1, "data", 1, 1, 1, moving(convert_transpose)},
      {"Expand", 8, "input shape", 2, 2, 1, convert_expand},
      {"Size", 1, "data", 1, 1, 1, convert_size},
      {"Shape", 1, "data", 1, 1, 1, convert_shape},
  });
  table.add_with_structures({{"Identity", 1, "input", 1, 1, 1, convert_identity, true}});
}

}  // namespace dlcc::frontends::onnx
