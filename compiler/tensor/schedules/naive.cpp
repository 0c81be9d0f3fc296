#include "tensor/schedules/naive.h"

#include <algorithm>
#include <set>

#include "tensor/analysis.h"
#include "tensor/schedules/sizes.h"
#include "tensor/simplify.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Variables in the indices of predicated loads that may be out of range.
std::set<Var> predicate_vars(const std::vector<Expr>& values, const Ranges& ranges) {
  std::set<Var> vars;
  for (const Expr& value : values)
    for (const Load& l : loads_of(value)) {
      if (!l.otherwise) continue;
      for (size_t d = 0; d < l.indices.size(); ++d) {
        if (provably_in_range(l.indices[d], l.buffer->shape[d], ranges)) continue;
        for_each_expr(l.indices[d], [&](const Expr& e) {
          if (const VarRef* ref = as<VarRef>(e)) vars.insert(ref->var);
        });
      }
    }
  return vars;
}

// The reduction's axes in loop order. Only sums and products may be reordered; the axes of predicates become the outer
// loops, so that a predicate is constant in the inner ones.
std::vector<Axis> loop_order(const Stage& stage) {
  std::vector<Axis> axes = stage.reduction->axes;
  ReducerKind kind = reducer_kind(*stage.reduction);
  if (kind != ReducerKind::sum && kind != ReducerKind::product) return axes;
  std::set<Var> outside = predicate_vars(stage.values, ranges_of(stage));
  std::ranges::stable_partition(axes, [&](const Axis& a) { return outside.count(a.var) > 0; });
  return axes;
}

// The reduction at one point of the axes.
Stmt reduce(const Stage& stage, const std::vector<Expr>& index) {
  const Reduction& r = *stage.reduction;
  std::vector<Buffer> accumulators;
  std::vector<Stmt> body, update, stores;
  Substitution operands;
  for (size_t k = 0; k < r.left.size(); ++k) {
    Buffer acc = make_buffer(stage.results[k]->name + "_acc", r.left[k]->type, {}, Scope::reg);
    body.push_back(store(acc, {}, r.identity[k]));
    operands.emplace(r.left[k], load(acc, {}));
    operands.emplace(r.right[k], stage.values[k]);
    stores.push_back(store(stage.results[k], index, cast(stage.results[k]->type, load(acc, {}))));
    accumulators.push_back(std::move(acc));
  }
  Stmt step;
  if (accumulators.size() == 1) {
    step = store(accumulators[0], {}, substitute(r.combined[0], operands));
  } else {
    // All combined values are computed before any accumulator changes.
    std::vector<Var> next;
    for (size_t k = 0; k < accumulators.size(); ++k) {
      next.push_back(make_var(stage.results[k]->name + "_next", r.left[k]->type));
      update.push_back(store(accumulators[k], {}, next[k]));
    }
    step = sequence(std::move(update));
    for (size_t k = accumulators.size(); k-- > 0;) step = let(next[k], substitute(r.combined[k], operands), step);
  }
  std::vector<Axis> axes = loop_order(stage);
  for (size_t d = axes.size(); d-- > 0;) step = for_loop(axes[d].var, Expr(axes[d].extent), LoopKind::serial, step);
  body.push_back(step);
  body.insert(body.end(), stores.begin(), stores.end());
  Stmt result = sequence(std::move(body));
  for (size_t k = accumulators.size(); k-- > 0;) result = allocate(accumulators[k], result);
  return result;
}

Stmt loop_nest(const Stage& stage) {
  if (stage.body) return stage.body;
  std::vector<Expr> index;
  for (size_t d = 0; d < stage.axes.size(); ++d) {
    Expr e = stage.axes[d].var;
    index.push_back(stage.origin.empty() ? e : Expr(stage.origin[d]) + e);
  }
  // Requirements that depend on no axis are checked also if the stage has no points.
  std::vector<Stmt> body, stage_steps;
  for (const Requirement& q : stage.requirements) {
    const bool at_points = std::ranges::any_of(stage.axes, [&](const Axis& a) { return uses(q.condition, a.var); });
    (at_points ? body : stage_steps).push_back(require(q.condition, q.status));
  }
  // The loops around an axis without points may have billions of iterations.
  if (std::ranges::any_of(stage.axes, [](const Axis& a) { return a.extent == Dim(0); }))
    return sequence(std::move(stage_steps));
  if (stage.reduction) {
    body.push_back(reduce(stage, index));
  } else {
    // All values are computed before any result is written.
    for (size_t k = 0; k < stage.results.size(); ++k)
      body.push_back(store(stage.results[k], index, cast(stage.results[k]->type, stage.values[k])));
  }
  Stmt nest = sequence(std::move(body));
  int vector_axis = -1;
  for (size_t d = 0; d < stage.axes.size(); ++d)
    if (stage.axes[d].extent.constant() != 1) vector_axis = static_cast<int>(d);
  auto wrap = [&](size_t d, LoopKind kind) {
    nest = for_loop(stage.axes[d].var, Expr(stage.axes[d].extent), kind, nest);
  };
  if (vector_axis >= 0) wrap(vector_axis, LoopKind::vector);
  for (size_t d = stage.axes.size(); d-- > 0;)
    if (static_cast<int>(d) != vector_axis) wrap(d, LoopKind::parallel);
  stage_steps.push_back(std::move(nest));
  return sequence(std::move(stage_steps));
}

}  // namespace

Kernel naive_schedule(const TensorFunction& f) {
  Kernel kernel;
  kernel.name = f.name;
  kernel.scalars = scalars_of_kernel(f);
  std::set<Buffer> known;
  for (const Buffer& b : f.params) kernel.params.push_back({b, Access::read}), known.insert(b);
  for (const Buffer& b : f.results) kernel.params.push_back({b, Access::write}), known.insert(b);
  std::vector<Stmt> body;
  for (const Stage& stage : f.stages) {
    for (const Buffer& b : stage.results)
      if (known.insert(b).second) kernel.params.push_back({b, Access::scratch});
    body.push_back(loop_nest(stage));
  }
  kernel.body = sequence(std::move(body));
  verify_after("naive_schedule", kernel);
  return kernel;
}

}  // namespace dlcc::tensor
