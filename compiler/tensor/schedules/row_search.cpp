#include "tensor/schedules/row_search.h"

#include <algorithm>
#include <optional>

#include "tensor/analysis.h"
#include "tensor/builder.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

struct Search {
  bool largest, last;  // the largest element, and the last position of equal ones; else the smallest, the first
};

bool is_reducer(const Reduction& r, const Reducer& known) {
  Substitution variables;
  for (size_t k = 0; k < r.left.size(); ++k) {
    variables.emplace(known.left[k], Expr(r.left[k]));
    variables.emplace(known.right[k], Expr(r.right[k]));
  }
  for (size_t k = 0; k < r.combined.size(); ++k)
    if (!structurally_equal(r.combined[k], substitute(known.combined[k], variables)) ||
        !structurally_equal(r.identity[k], known.identity[k]))
      return false;
  return true;
}

std::optional<Search> find_search(const Stage& stage) {
  if (!stage.reduction || stage.body || stage.results.size() != 2 || !stage.requirements.empty()) return std::nullopt;
  const DType value = stage.results[0]->type, position = stage.results[1]->type;
  for (const bool last : {false, true}) {
    if (is_reducer(*stage.reduction, arg_max_of(value, position, last))) return Search{true, last};
    if (is_reducer(*stage.reduction, arg_min_of(value, position, last))) return Search{false, last};
  }
  return std::nullopt;
}

// Whether the stage reads one operand, whose elements along the last reduced axis are neighbours.
bool reads_rows(const Stage& stage) {
  const std::vector<Load> loads = loads_of(stage.values[0]);
  if (loads.size() != 1 || loads[0].indices.empty() || !loads_of(stage.values[1]).empty()) return false;
  const Expr& column = loads[0].indices.back();
  const bool has_rows =
      std::ranges::none_of(stage.axes, [&](const Axis& a) { return a.extent != Dim(1) && uses(column, a.var); });
  return has_rows && stride_along(column, stage.reduction->axes.back().var) == 1;
}

// The stage with fresh variables and one result.
Stage with_one_result(const Stage& stage, const Buffer& result, const Expr& value, const Reducer& reducer) {
  Stage one = stage;
  Substitution fresh;
  for (std::vector<Axis>* axes : {&one.axes, &one.reduction->axes})
    for (Axis& a : *axes) {
      const Var var = make_var(a.var->name);
      fresh.emplace(a.var, Expr(var));
      a.var = var;
    }
  one.results = {result};
  one.values = {substitute(value, fresh)};
  one.reduction->left = reducer.left, one.reduction->right = reducer.right;
  one.reduction->combined = reducer.combined, one.reduction->identity = reducer.identity;
  return one;
}

}  // namespace

void divide_row_searches(TensorFunction& f, const Machine& machine) {
  for (size_t k = 0; k < f.stages.size(); ++k) {
    const Stage stage = f.stages[k];
    const auto search = find_search(stage);
    if (!search || !reads_rows(stage) || is_expensive(stage.values[0])) continue;
    if (machine.lanes(bits(stage.results[0]->type)) <= 1) continue;
    const Buffer &extremum = stage.results[0], &position = stage.results[1];
    std::vector<Expr> own;
    for (size_t d = 0; d < stage.axes.size(); ++d)
      own.push_back(stage.origin.empty() ? Expr(stage.axes[d].var) : Expr(stage.axes[d].var) + Expr(stage.origin[d]));
    const Expr &value = stage.values[0], found = load(extremum, own);
    Expr is_found = equal(value, found);
    if (is_float(value.type()))
      is_found = logical_or(is_found, logical_and(unary(UnaryOp::is_nan, value), unary(UnaryOp::is_nan, found)));
    const Expr none = search->last ? lowest(position->type) : highest(position->type);
    const Reducer of_values = search->largest ? max_of(extremum->type) : min_of(extremum->type);
    const Reducer of_positions = search->last ? max_of(position->type) : min_of(position->type);
    f.stages[k] = with_one_result(stage, extremum, value, of_values);
    f.stages.insert(f.stages.begin() + static_cast<std::ptrdiff_t>(++k),
                    with_one_result(stage, position, select(is_found, stage.values[1], none), of_positions));
  }
}

}  // namespace dlcc::tensor
