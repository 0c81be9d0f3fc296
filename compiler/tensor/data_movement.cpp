#include "tensor/data_movement.h"

#include <algorithm>
#include <set>

#include "tensor/analysis.h"
#include "tensor/dim_of.h"
#include "tensor/index_facts.h"
#include "tensor/layout.h"
#include "tensor/simplify.h"
#include "tensor/simplify_symbolic.h"
#include "tensor/slices.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

bool is_concatenation(const TensorFunction& f) {
  return f.results.size() == 1 && !f.stages.empty() && std::ranges::all_of(f.stages, [&](const Stage& s) {
           return !s.reduction && !s.origin.empty() && s.results.size() == 1 && s.results[0] == f.results[0];
         });
}

// The parameter that the stage copies to its box; -1 if the stage is no copy of a whole parameter.
static int copied_param(const TensorFunction& f, const Stage& stage) {
  const Load* l = as<Load>(stage.values[0]);
  if (!l || l->otherwise || !stage.requirements.empty()) return -1;
  auto param = std::ranges::find(f.params, l->buffer);
  if (param == f.params.end() || l->indices.size() != stage.axes.size()) return -1;
  for (size_t d = 0; d < stage.axes.size(); ++d) {
    if (!is_var(l->indices[d], stage.axes[d].var) || stage.axes[d].extent != l->buffer->shape[d]) return -1;
  }
  return static_cast<int>(param - f.params.begin());
}

// The offset, in elements of the result's storage, of an operand of a concatenation whose box begins at `origin`. Empty
// if the operand is not contiguous there. It is if the outermost part of the concatenated axis is the outermost
// physical dimension of more than one element.
static std::optional<Dim> concat_offset(const Layout& piece, const Shape& piece_shape, const Layout& whole,
                                        const Shape& whole_shape, const Shape& origin) {
  Layout small = explicit_layout(piece, piece_shape), large = explicit_layout(whole, whole_shape);
  if (small.parts.size() != large.parts.size()) return std::nullopt;
  Dim offset = 0, inner = 1;
  std::set<int> cut;  // concatenated axes whose outermost part has been visited
  bool only_ones = true;
  for (size_t k = 0; k < large.parts.size(); ++k) {
    const Layout::Part &a = small.parts[k], &b = large.parts[k];
    size_t axis = static_cast<size_t>(b.axis);
    inner = inner * b.extent;
    if (a.axis != b.axis || a.divisor != b.divisor || a.halo != b.halo) return std::nullopt;
    if (piece_shape[axis] != whole_shape[axis] && cut.insert(b.axis).second) {
      auto is_block = [&](const Dim& d) { return floor_mod(d, b.divisor) == Dim(0); };
      const Dim end = origin[axis] + piece_shape[axis];
      bool whole_blocks = is_block(origin[axis]) && (is_block(end) || end == whole_shape[axis]);
      if (!only_ones || !whole_blocks || b.halo != 0) return std::nullopt;
      offset = floor_div(origin[axis], b.divisor);
      inner = 1;
      only_ones = false;
    } else if (a.extent != b.extent) {
      return std::nullopt;
    }
    only_ones = only_ones && b.extent == Dim(1);
  }
  return offset * inner;
}

std::optional<std::vector<Dim>> concat_offsets(const TensorFunction& f, const std::vector<Layout>& layouts) {
  if (!is_concatenation(f) || f.stages.size() != f.params.size()) return std::nullopt;
  std::vector<std::optional<Dim>> offsets(f.params.size());
  for (const Stage& stage : f.stages) {
    const int param = copied_param(f, stage);
    if (param < 0) return std::nullopt;
    const auto k = static_cast<size_t>(param);
    if (offsets[k]) return std::nullopt;
    offsets[k] = concat_offset(layouts[k], f.params[k]->shape, layouts.back(), f.results[0]->shape, stage.origin);
    if (!offsets[k]) return std::nullopt;
  }
  std::vector<Dim> all;
  for (std::optional<Dim>& o : offsets) all.push_back(std::move(*o));
  return all;
}

// Row-major offset of an index into a static shape.
static Expr offset_of(const std::vector<Expr>& indices, const Shape& shape) {
  Expr offset = 0;
  for (size_t k = 0; k < indices.size(); ++k) offset = offset * Expr(shape[k].value()) + indices[k];
  return offset;
}

// Row-major offset of an index into a symbolic shape. Empty unless the index is arithmetic on the stage's axes and
// symbols.
static std::optional<Dim> symbolic_offset_of(const std::vector<Expr>& indices, const Shape& shape, const Stage& stage) {
  auto value = [&](const Var& v) -> std::optional<Dim> {
    for (size_t k = 0; k < stage.axes.size(); ++k)
      if (stage.axes[k].var == v) {
        const int64_t most = stage.axes[k].extent.upper_bound().value_or(max_elements);
        return Dim::symbol({fmt::format("axis {}", k), 0, std::min(most, max_elements) - 1});
      }
    for (const std::vector<Dim>& all : {stage.results[0]->shape, shape})
      for (const Dim& d : all)
        for (const Symbol& s : d.symbols())
          if (scalar_of(s) == v) return Dim::symbol(s);
    return std::nullopt;
  };
  Dim offset = 0;
  for (size_t k = 0; k < indices.size(); ++k) {
    // b * (a div b) + a mod b is a
    const Expr without_mod = rewrite(simplify(indices[k], ranges_of(stage)), [](const Expr& e) {
      const Binary* x = as<Binary>(e);
      return x && x->op == BinaryOp::floor_mod ? x->a - x->b * floor_div(x->a, x->b) : e;
    });
    const auto index = dim_of(without_mod, value);
    if (!index) return std::nullopt;
    offset = offset * shape[k] + *index;
  }
  return offset;
}

// The indices of the load, simplified by the extents of the stage's axes.
static std::vector<Expr> simplified_indices(const Load& l, const Stage& stage, const std::vector<Symbol>& symbols) {
  const IndexFacts facts = facts_within(stage, symbols);
  const Ranges ranges = ranges_of(stage);
  std::vector<Expr> simple;
  for (const Expr& index : l.indices)
    simple.push_back(simplify(simplify_symbolic(simplify(index, ranges), facts), ranges));
  return simple;
}

std::optional<int64_t> contiguous_slice(const TensorFunction& f) {
  if (f.stages.size() != 1 || f.params.size() != 1 || f.results.size() != 1) return std::nullopt;
  const Stage& stage = f.stages[0];
  const Load* l = stage.body ? nullptr : as<Load>(stage.values[0]);
  if (stage.reduction || !l || l->otherwise || !stage.requirements.empty() || !stage.origin.empty())
    return std::nullopt;
  std::vector<Expr> axes;
  for (const Axis& a : stage.axes) axes.push_back(a.var);
  if (is_static(l->buffer->shape) && is_static(stage.results[0]->shape)) {
    Expr distance = offset_of(l->indices, l->buffer->shape) - offset_of(axes, stage.results[0]->shape);
    if (const auto known = constant_integer(simplify(distance, ranges_of(stage)))) return known;
  }
  const auto to = symbolic_offset_of(axes, stage.results[0]->shape, stage);
  auto distance = [&](const std::vector<Expr>& indices) -> std::optional<int64_t> {
    const auto from = symbolic_offset_of(indices, l->buffer->shape, stage);
    return from && to ? (*from - *to).constant() : std::nullopt;
  };
  if (const auto known = distance(l->indices)) return known;
  const std::vector<Symbol> symbols = symbols_of(f);
  return symbols.empty() ? std::nullopt : distance(simplified_indices(*l, stage, symbols));
}

bool is_slice(const TensorFunction& f) {
  if (f.stages.size() != 1 || f.params.size() != 1 || !is_plain(f.stages[0]) || f.stages[0].reduction) return false;
  const Stage& stage = f.stages[0];
  const Load* l = as<Load>(stage.values[0]);
  if (!l || l->otherwise || l->indices.size() != stage.axes.size()) return false;
  for (size_t d = 0; d < stage.axes.size(); ++d)
    for (size_t axis = 0; axis < stage.axes.size(); ++axis)
      if (axis != d && uses(l->indices[d], stage.axes[axis].var)) return false;
  return true;
}

bool joins_parts(const TensorFunction& f) {
  if (!is_concatenation(f)) return false;
  const Shape& whole = f.results[0]->shape;
  for (const Stage& box : f.stages)
    for (size_t d = 0; d < whole.size() && box.axes[d].extent == whole[d]; ++d)
      if (whole[d] != Dim(1)) return true;
  return false;
}

bool is_view(const TensorFunction& f) {
  if (f.params.size() == 1)
    if (auto slices = find_slices(f)) return slices->sliced[0] && is_view(slices->slice);
  return contiguous_slice(f) == 0 && product(f.params[0]->shape) == product(f.results[0]->shape);
}

}  // namespace dlcc::tensor
