#include "frontends/onnx/operators/lists.h"

#include <algorithm>
#include <numeric>

namespace dlcc::frontends::onnx {

Value integers(const std::vector<int64_t>& numbers) {
  return Value::of(Constant::of(dtype::i64, {static_cast<int64_t>(numbers.size())}, numbers));
}

Value floats(const std::vector<float>& numbers) {
  return Value::of(Constant::of(dtype::f32, {static_cast<int64_t>(numbers.size())}, numbers));
}

Value sizes_of(Node& n, const Value& x) {
  if (is_static(x.type.shape)) return integers(static_shape(x.type.shape));
  return n.call("shape_of", {x}, {{"dtype", "int64"}});
}

Value slice_of(Node& n, const Value& list, int64_t begin, int64_t end) {
  return n.call("strided_slice", {list}, {{"begin", relay::AttrList{begin}}, {"end", relay::AttrList{end}}});
}

Value spread(Node& n, const Value& numbers, const std::vector<int64_t>& axes, const Value& otherwise) {
  if (otherwise.poisoned || numbers.poisoned) return Value::poison();
  const int64_t rank = otherwise.type.shape[0].value();
  std::vector<int64_t> from(static_cast<size_t>(rank));
  std::iota(from.begin(), from.end(), 0);
  for (size_t j = 0; j < axes.size(); ++j) from[axes[j]] = rank + static_cast<int64_t>(j);
  Value all = n.call("concatenate", {otherwise, numbers}, {{"axis", 0}});
  return n.call("take", {all, integers(from)}, {{"axis", 0}});
}

Value stacked(Node& n, const Values& tensors, int64_t axis) {
  Values slices;
  for (const Value& v : tensors) slices.push_back(n.call("expand_dims", {v}, {{"axis", axis}}));
  return slices.size() == 1 ? slices[0] : n.call("concatenate", slices, {{"axis", axis}});
}

std::optional<std::vector<int64_t>> axes_attribute(Node& n, int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (auto given = n.integers("axes")) {
    axes.clear();
    for (int64_t axis : *given) {
      auto known = n.axis_of(axis, rank);
      if (!known) return std::nullopt;
      if (!n.check(std::ranges::count(axes, *known) == 0, DiagnosticId::bad_attribute,
                   fmt::format("axis {} is named twice", *known)))
        return std::nullopt;
      axes.push_back(*known);
    }
  }
  return axes;
}

bool check_length(Node& n, int input, size_t length) {
  const std::string found = describe(n.in(input).type);
  return n.check(n.require_shape(input, {Dim(static_cast<int64_t>(length))}), DiagnosticId::shape_mismatch,
                 fmt::format("{} must have {} numbers, found {}", n.in(input).role, length, found));
}

}  // namespace dlcc::frontends::onnx
