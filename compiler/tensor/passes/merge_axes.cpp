#include "tensor/passes/merge_axes.h"

#include <algorithm>
#include <map>
#include <set>

#include "tensor/analysis.h"
#include "tensor/layout.h"
#include "tensor/simplify.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The axes of a stage, then those of its reduction.
std::vector<Axis> all_axes(const Stage& stage) {
  std::vector<Axis> axes = stage.axes;
  if (stage.reduction) axes.insert(axes.end(), stage.reduction->axes.begin(), stage.reduction->axes.end());
  return axes;
}

std::optional<size_t> position(const std::vector<Axis>& axes, const Expr& e) {
  const VarRef* ref = as<VarRef>(e);
  for (size_t k = 0; ref && k < axes.size(); ++k)
    if (axes[k].var == ref->var) return k;
  return std::nullopt;
}

class AxisMerger {
 public:
  AxisMerger(TensorFunction& f, std::vector<Layout>& layouts) : f_(f), layouts_(layouts) {}

  void run() {
    while (merge_one()) {
    }
  }

 private:
  // Merges one axis with the next, together with all dimensions (buffer, d) and axes of other stages that must be
  // merged with them. False if no axis can be merged.
  bool merge_one() {
    for (const Stage& stage : f_.stages)
      for (size_t d = 0; d + 1 < all_axes(stage).size(); ++d) {
        dims_.clear();
        axes_.clear();
        if (collect_axis(stage, d)) {
          apply();
          return true;
        }
      }
    return false;
  }

  // `d`: an index of all_axes().
  bool collect_axis(const Stage& stage, size_t d) {
    if (!axes_.insert({&stage, d}).second) return true;
    if (axes_.contains({&stage, d + 1}) || (d > 0 && axes_.contains({&stage, d - 1}))) return false;
    if (d + 1 == stage.axes.size() || !is_whole_along(stage, d + 1)) return false;
    if (d < stage.axes.size())
      for (const Buffer& b : stage.results)
        if (!collect_dim(b, static_cast<int>(d))) return false;
    // Each use of either variable must be in an adjacent pair of indices [.., outer, inner, ..].
    const std::vector<Axis> axes = all_axes(stage);
    const Var &outer = axes[d].var, &inner = axes[d + 1].var;
    bool ok = true;
    auto check = [&](const Expr& root) {
      int mentions = 0, pairs = 0;
      // Several loads may share the node of a variable: uses are counted, not nodes.
      for_each_expr(root, [&](const Expr& e) {
        if (const Load* l = as<Load>(e)) {
          for (size_t k = 0; k < l->indices.size(); ++k) {
            bool is_outer = is_var(l->indices[k], outer), is_inner = is_var(l->indices[k], inner);
            if (!is_outer && !is_inner) {
              if (uses(l->indices[k], outer) || uses(l->indices[k], inner)) ok = false;
              continue;
            }
            ++mentions;
            if (is_outer && k + 1 < l->indices.size() && is_var(l->indices[k + 1], inner) && !l->otherwise &&
                l->buffer->shape[k] == axes[d].extent && l->buffer->shape[k + 1] == axes[d + 1].extent) {
              ++pairs;
              ok = ok && collect_dim(l->buffer, static_cast<int>(k));
            }
          }
        } else {
          for_each_operand(*e, [&](const Expr& child) {
            if (is_var(child, outer) || is_var(child, inner)) ok = false;
          });
        }
      });
      if (is_var(root, outer) || is_var(root, inner)) ok = false;
      ok = ok && mentions == 2 * pairs;
    };
    for (const Expr& v : stage.values) check(v);
    for (const Requirement& r : stage.requirements) check(r.condition);
    return ok;
  }

  // Whether the stage computes all indices of its results along the axis: it computes no box that ends or begins there.
  static bool is_whole_along(const Stage& stage, size_t axis) {
    return stage.origin.empty() || axis >= stage.axes.size() ||
           stage.results[0]->shape[axis] == stage.axes[axis].extent;
  }

  bool collect_dim(const Buffer& buffer, int d) {
    if (!dims_.insert({buffer, d}).second) return true;
    if (dims_.contains({buffer, d + 1}) || (d > 0 && dims_.contains({buffer, d - 1}))) return false;
    if (const Layout* l = layout_of(buffer); l && !adjacent(*l, buffer->shape, d)) return false;
    for (const Stage& stage : f_.stages) {
      if (std::ranges::count(stage.results, buffer) && !collect_axis(stage, static_cast<size_t>(d))) return false;
      bool ok = true;
      auto check = [&](const Expr& root) {
        for (const Load& l : loads_of(root)) {
          if (l.buffer != buffer) continue;
          const std::vector<Axis> axes = all_axes(stage);
          auto outer = position(axes, l.indices[d]);
          bool pair = outer && position(axes, l.indices[d + 1]) == *outer + 1 && !l.otherwise;
          ok = ok && pair && collect_axis(stage, *outer);
        }
      };
      for (const Expr& v : stage.values) check(v);
      for (const Requirement& r : stage.requirements) check(r.condition);
      if (!ok) return false;
    }
    return true;
  }

  void apply() {
    std::map<Buffer, Buffer> map;
    auto joined = [&](const Buffer& b) -> Buffer {
      if (auto it = map.find(b); it != map.end()) return it->second;
      Shape shape;
      for (int d = 0; d < b->rank(); ++d) {
        bool second = d > 0 && dims_.contains({b, d - 1});
        if (second)
          shape.back() = shape.back() * b->shape[d];
        else
          shape.push_back(b->shape[d]);
      }
      bool changed = static_cast<int>(shape.size()) != b->rank();
      return map[b] = changed ? make_buffer(b->name, b->type, shape, b->scope, b->alignment) : b;
    };
    for (Stage& stage : f_.stages) {
      auto is_inner = [&](size_t d) { return d > 0 && axes_.contains({&stage, d - 1}); };
      rewrite_stage(stage, [&](const Expr& e) {
        const Load* l = as<Load>(e);
        if (!l) return e;
        std::vector<Expr> indices;
        for (size_t d = 0; d < l->indices.size(); ++d)
          if (!(d > 0 && dims_.contains({l->buffer, static_cast<int>(d) - 1}))) indices.push_back(l->indices[d]);
        return load(joined(l->buffer), std::move(indices), l->otherwise);
      });
      auto merged = [&](const std::vector<Axis>& axes, size_t first) {
        std::vector<Axis> result;
        for (size_t k = 0; k < axes.size(); ++k) {
          if (is_inner(first + k))
            result.back().extent = result.back().extent * axes[k].extent;
          else
            result.push_back(axes[k]);
        }
        return result;
      };
      Shape origin;
      for (size_t k = 0; k < stage.origin.size(); ++k)
        if (is_inner(k))
          origin.back() = origin.back() * stage.axes[k].extent;
        else
          origin.push_back(stage.origin[k]);
      stage.origin = std::move(origin);
      for (Buffer& b : stage.results) b = joined(b);
      if (stage.reduction) stage.reduction->axes = merged(stage.reduction->axes, stage.axes.size());
      stage.axes = merged(stage.axes, 0);
    }
    for (size_t k = 0; k < f_.params.size() + f_.results.size(); ++k) {
      Buffer& b = k < f_.params.size() ? f_.params[k] : f_.results[k - f_.params.size()];
      join_parts(layouts_[k], b);
      b = joined(b);
    }
  }

  const Layout* layout_of(const Buffer& buffer) const {
    for (size_t k = 0; k < f_.params.size(); ++k)
      if (f_.params[k] == buffer) return &layouts_[k];
    for (size_t k = 0; k < f_.results.size(); ++k)
      if (f_.results[k] == buffer) return &layouts_[f_.params.size() + k];
    return nullptr;
  }

  // Whether dimensions d and d + 1 are one unsplit part each, adjacent and without halo.
  static bool adjacent(const Layout& layout, const Shape& shape, int d) {
    if (layout.is_dense()) return true;
    auto whole = [&](const Layout::Part& p) {
      return std::ranges::count(layout.parts, p.axis, &Layout::Part::axis) == 1 && !has_halo(p, shape[p.axis]);
    };
    for (size_t k = 0; k + 1 < layout.parts.size(); ++k)
      if (layout.parts[k].axis == d && layout.parts[k + 1].axis == d + 1)
        return whole(layout.parts[k]) && whole(layout.parts[k + 1]);
    return false;
  }

  void join_parts(Layout& layout, const Buffer& buffer) const {
    std::vector<Layout::Part> parts;
    for (Layout::Part part : layout.parts) {
      bool second = part.axis > 0 && dims_.contains({buffer, part.axis - 1});
      if (second) {
        parts.back().extent = parts.back().extent * part.extent;
        continue;
      }
      int before = 0;  // the number of merged pairs of lower axes
      for (int d = 0; d + 1 < part.axis; ++d) before += dims_.contains({buffer, d});
      part.axis -= before;
      parts.push_back(part);
    }
    layout.parts = std::move(parts);
  }

  TensorFunction& f_;
  std::vector<Layout>& layouts_;
  std::set<std::pair<Buffer, int>> dims_;
  std::set<std::pair<const Stage*, size_t>> axes_;
};

}  // namespace

void merge_axes(TensorFunction& f, std::vector<Layout>& layouts) {
  AxisMerger(f, layouts).run();
  verify_after("merge_axes", f);
}

bool drop_unit_reduced_axes(TensorFunction& f) {
  bool any = false;
  for (Stage& stage : f.stages) {
    if (!stage.reduction) continue;
    std::vector<Axis>& axes = stage.reduction->axes;
    Substitution zero;
    for (size_t k = axes.size(); k-- > 0 && axes.size() > 1;) {
      if (axes[k].extent != Dim(1)) continue;
      zero.emplace(axes[k].var, Expr(0));
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(k));
    }
    if (zero.empty()) continue;
    any = true;
    const Ranges ranges = ranges_of(stage);
    for (Expr& v : stage.values) v = simplify(substitute(v, zero), ranges);
    for (Requirement& r : stage.requirements) r.condition = simplify(substitute(r.condition, zero), ranges);
  }
  return any;
}

}  // namespace dlcc::tensor