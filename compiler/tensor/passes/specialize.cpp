#include "tensor/passes/specialize.h"

#include <algorithm>
#include <set>

#include "tensor/analysis.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

void for_each_root(const TensorFunction& f, const std::function<void(const Expr&)>& visit) {
  for (const Stage& s : f.stages) for_each_root_expr(s, visit);
}

// Whether the expression depends on scalar parameters and symbols, and on nothing else.
bool is_scalar(const Expr& e, const TensorFunction& f) {
  bool scalar = true;
  for_each_expr(e, [&](const Expr& part) {
    const VarRef* ref = as<VarRef>(part);
    scalar &= !as<Load>(part) && (!ref || is_symbol_var(ref->var) || std::ranges::count(f.scalars, ref->var) > 0);
  });
  return scalar;
}

// The outermost dimension of an extent other than 1; -1 if there is none.
int slicing_dimension(const Shape& shape) {
  auto sliced = std::ranges::find_if(shape, [](const Dim& d) { return d != Dim(1); });
  return sliced == shape.end() ? -1 : static_cast<int>(sliced - shape.begin());
}

Buffer without_dimension(const Buffer& b, int d) {
  Shape shape = b->shape;
  shape.erase(shape.begin() + d);
  return make_buffer(b->name, b->type, std::move(shape), b->scope);
}

}  // namespace

void pass_by_value(TensorFunction& f, size_t param) {
  const Buffer b = f.params[param];
  DLCC_CHECK(product(b->shape) == Dim(1), "parameter {} has the shape {}", b->name, str(b->shape));
  const Var scalar = make_var(b->name, b->type);
  for (Stage& stage : f.stages)
    rewrite_stage(stage, [&](const Expr& e) {
      const Load* l = as<Load>(e);
      if (!l || l->buffer != b) return e;
      Expr element = scalar;
      if (l->otherwise)
        for (const Expr& index : l->indices) element = select(equal(index, Expr(0)), element, l->otherwise);
      return element;
    });
  f.params.erase(f.params.begin() + static_cast<std::ptrdiff_t>(param));
  f.scalars.push_back(scalar);
  verify_after("pass_by_value", f);
}

std::vector<Requirement> take_scalar_requirements(TensorFunction& f) {
  std::vector<Requirement> taken;
  for (Stage& stage : f.stages)
    std::erase_if(stage.requirements, [&](const Requirement& r) {
      if (!is_scalar(r.condition, f)) return false;
      taken.push_back(r);
      return true;
    });
  f.has_checked_requirements |= !taken.empty();
  return taken;
}

std::optional<ScalarIndex> slice_parameter(TensorFunction& f, size_t param) {
  const Buffer b = f.params[param];
  const int d = slicing_dimension(b->shape);
  if (d < 0 || !b->strides.empty()) return std::nullopt;
  Expr index;
  bool one_index = true, conditional = false;
  for_each_root(f, [&](const Expr& root) {
    for_each_expr(root, [&](const Expr& e) {
      const Select* s = as<Select>(e);
      conditional |= s && (reads(s->a, b) || reads(s->b, b));
    });
    for (const Load& l : loads_of(root)) {
      if (l.buffer != b) continue;
      const Expr& at = l.indices[static_cast<size_t>(d)];
      if (!index) index = at;
      one_index &= !l.otherwise && structurally_equal(at, index);
    }
  });
  if (!index || !one_index || !is_scalar(index, f) || constant_integer(index)) return std::nullopt;
  const Buffer slice = without_dimension(b, d);
  for (Stage& stage : f.stages)
    rewrite_stage(stage, [&](const Expr& e) {
      const Load* l = as<Load>(e);
      if (!l || l->buffer != b) return e;
      std::vector<Expr> indices = l->indices;
      indices.erase(indices.begin() + d);
      return load(slice, std::move(indices));
    });
  f.params[param] = slice;
  verify_after("slice_parameter", f);
  return ScalarIndex{index, b->shape[static_cast<size_t>(d)], conditional};
}

// Whether a stage reads the buffer, or has requirements, so that it must run even if no slice is replaced.
static bool prevents_slice_update(const Stage& s, const Buffer& data) {
  bool found = s.body || !s.requirements.empty();
  if (!s.body) for_each_root_expr(s, [&](const Expr& root) { found |= reads(root, data); });
  return found;
}

std::optional<SliceUpdate> slice_update(const TensorFunction& f, size_t param) {
  if (f.results.size() != 1 || f.stages.back().body || f.stages.back().reduction ||
      !f.stages.back().requirements.empty())
    return std::nullopt;
  const Stage& stage = f.stages.back();
  const Buffer &data = f.params[param], &result = f.results[0];
  // The earlier stages compute the slice.
  if (std::any_of(f.stages.begin(), f.stages.end() - 1, [&](const Stage& s) {
        return prevents_slice_update(s, data) || std::ranges::count(s.results, result);
      }))
    return std::nullopt;
  const int d = slicing_dimension(result->shape);
  const Select* chosen = as<Select>(stage.values[0]);
  const Binary* test = chosen ? as<Binary>(chosen->condition) : nullptr;
  const Load* kept = chosen ? as<Load>(chosen->b) : nullptr;
  if (d < 0 || !stage.origin.empty() || !test || test->op != BinaryOp::eq || !kept || kept->buffer != data ||
      kept->otherwise || data->shape != result->shape || data->type != result->type || reads(chosen->a, data))
    return std::nullopt;
  for (size_t k = 0; k < stage.axes.size(); ++k)
    if (!structurally_equal(kept->indices[k], stage.axes[k].var)) return std::nullopt;
  const Axis axis = stage.axes[static_cast<size_t>(d)];
  const bool axis_first = structurally_equal(test->a, axis.var);
  const Expr index = axis_first ? test->b : test->a;
  if ((!axis_first && !structurally_equal(test->b, axis.var)) || !is_scalar(index, f)) return std::nullopt;

  SliceUpdate update{f, {index, axis.extent}};
  Stage& slice = update.slice.stages.back();
  slice.axes.erase(slice.axes.begin() + d);
  slice.values = {substitute(chosen->a, {{axis.var, index}})};
  slice.results = update.slice.results = {without_dimension(result, d)};
  verify_after("slice_update", update.slice);
  return update;
}

std::optional<Expr> scalar_value(const TensorFunction& f) {
  if (f.stages.size() != 1 || f.results.size() != 1 || f.results[0]->rank() != 0) return std::nullopt;
  const Stage& stage = f.stages[0];
  const bool may_fail =
      std::ranges::any_of(stage.requirements, [](const Requirement& r) { return constant_integer(r.condition) != 1; });
  if (stage.body || stage.reduction || may_fail || !is_scalar(stage.values[0], f)) return std::nullopt;
  return stage.values[0];
}

std::vector<size_t> remove_unused_scalars(TensorFunction& f) {
  std::set<Var> used;
  for_each_root(f, [&](const Expr& root) {
    for_each_expr(root, [&](const Expr& e) {
      if (const VarRef* ref = as<VarRef>(e)) used.insert(ref->var);
    });
  });
  std::vector<size_t> kept;
  std::vector<Var> scalars;
  for (size_t k = 0; k < f.scalars.size(); ++k) {
    if (!used.contains(f.scalars[k])) continue;
    kept.push_back(k);
    scalars.push_back(f.scalars[k]);
  }
  f.scalars = std::move(scalars);
  verify_after("remove_unused_scalars", f);
  return kept;
}

}  // namespace dlcc::tensor
