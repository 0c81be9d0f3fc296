#include "tensor/slices.h"

#include <algorithm>
#include <map>
#include <set>

#include "tensor/analysis.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class Slicer {
 public:
  // `outer`: the extents of the leading axes.
  Slicer(const TensorFunction& f, Shape outer, Dim extent)
      : f_(f), extent_(std::move(extent)), outer_(std::move(outer)) {}

  std::optional<Slices> run() {
    if (outer_.empty()) return std::nullopt;
    for (const Stage& stage : f_.stages)
      if (!is_sliced(stage)) return std::nullopt;
    Slices slices{make_slice(), {}, static_cast<int>(outer_.size()), product(outer_)};
    for (const Buffer& b : f_.params) slices.sliced.push_back(sliced_.contains(b));
    for (const Buffer& b : f_.results) slices.sliced.push_back(sliced_.contains(b));
    return slices;
  }

 private:
  bool begins_with_axes(const Shape& shape) const {
    return shape.size() >= outer_.size() && std::equal(outer_.begin(), outer_.end(), shape.begin());
  }

  bool is_sliced(const Stage& stage) {
    Shape extents;
    for (const Axis& a : stage.axes) extents.push_back(a.extent);
    if (!begins_with_axes(extents)) return false;
    for (size_t d = 0; d < std::min(outer_.size(), stage.origin.size()); ++d)
      if (stage.origin[d] != Dim(0)) return false;
    for (const Buffer& b : stage.results) {
      if (!begins_with_axes(b->shape)) return false;
      sliced_.insert(b);
    }
    bool ok = true;
    for (const Expr& v : stage.values) ok = ok && reads_slices(v, stage);
    for (const Requirement& r : stage.requirements) ok = ok && reads_slices(r.condition, stage);
    return ok;
  }

  bool is_outer(const Expr& e, const Stage& stage) const {
    const VarRef* ref = as<VarRef>(e);
    auto end = stage.axes.begin() + static_cast<std::ptrdiff_t>(outer_.size());
    return ref && std::any_of(stage.axes.begin(), end, [&](const Axis& a) { return a.var == ref->var; });
  }

  // Whether the variables of the leading axes occur only as the leading indices of loads of sliced buffers.
  bool reads_slices(const Expr& root, const Stage& stage) {
    bool ok = !is_outer(root, stage);
    for_each_expr(root, [&](const Expr& e) {
      const Load* l = as<Load>(e);
      if (!l) return for_each_operand(*e, [&](const Expr& operand) { ok = ok && !is_outer(operand, stage); });
      const size_t leading = leading_axes(*l, stage);
      (leading > 0 ? sliced_ : whole_).insert(l->buffer);
      const bool fits = leading == 0 || (leading == outer_.size() && begins_with_axes(l->buffer->shape));
      ok = ok && fits && !(sliced_.contains(l->buffer) && whole_.contains(l->buffer));
      for (size_t d = leading; d < l->indices.size(); ++d) ok = ok && !is_outer(l->indices[d], stage);
      ok = ok && !(l->otherwise && is_outer(l->otherwise, stage));
    });
    return ok;
  }

  // The number of the load's leading indices that are the stage's leading axes, in order.
  size_t leading_axes(const Load& l, const Stage& stage) const {
    size_t k = 0;
    while (k < outer_.size() && k < l.indices.size() && is_var(l.indices[k], stage.axes[k].var)) ++k;
    return k;
  }

  Dim extent_of(size_t axis) const { return axis + 1 == outer_.size() ? extent_ : 1; }

  Buffer slice_of(const Buffer& b) {
    if (!sliced_.contains(b)) return b;
    Buffer& slice = slices_[b];
    if (slice) return slice;
    BufferNode node = *b;
    for (size_t d = 0; d < outer_.size(); ++d) node.shape[d] = extent_of(d);
    return slice = std::make_shared<const BufferNode>(std::move(node));
  }

  TensorFunction make_slice() {
    TensorFunction slice = f_;
    for (Buffer& b : slice.params) b = slice_of(b);
    for (Buffer& b : slice.results) b = slice_of(b);
    const MapAccess map = [&](Buffer& b, std::vector<Expr>&) { b = slice_of(b); };
    for (Stage& stage : slice.stages) {
      for (Buffer& b : stage.results) b = slice_of(b);
      for (size_t d = 0; d < outer_.size(); ++d) stage.axes[d].extent = extent_of(d);
      for (Expr& v : stage.values) v = rewrite_accesses(v, map);
      for (Requirement& r : stage.requirements) r.condition = rewrite_accesses(r.condition, map);
    }
    return slice;
  }

  const TensorFunction& f_;
  Dim extent_;                       // of the last axis of a slice
  Shape outer_;                      // the extents of the leading axes
  std::set<Buffer> sliced_, whole_;  // buffers that have the axes, and buffers that are read without them
  std::map<Buffer, Buffer> slices_;
};

}  // namespace

std::optional<Slices> find_slices(const TensorFunction& f, int64_t extent) {
  if (f.results.empty()) return std::nullopt;
  const Shape& shape = f.results[0]->shape;
  const auto end = std::ranges::find_if(shape, [](const Dim& d) { return d.is_constant(); });
  auto slices = Slicer(f, Shape(shape.begin(), end), extent).run();
  return slices && symbols_of(slices->slice).empty() ? slices : std::nullopt;
}

std::optional<Slices> find_row_blocks(const TensorFunction& f, const Dim& rows) {
  if (f.results.empty() || f.results[0]->shape.empty()) return std::nullopt;
  return Slicer(f, {f.results[0]->shape[0]}, rows).run();
}

std::optional<Layout> layout_of_slice(const Layout& layout, int axes) {
  Layout slice = layout;
  for (size_t k = 0; k < slice.parts.size(); ++k) {
    Layout::Part& part = slice.parts[k];
    if (part.axis >= axes) continue;
    if (part.axis != static_cast<int>(k) || part.divisor != 1 || part.halo != 0) return std::nullopt;
    part.extent = 1;
  }
  return slice;
}

}  // namespace dlcc::tensor
