// The evaluation of a reduction of few values, point by point, where a value may be unknown: std::optional<Dim> in
// evaluate_symbolic.cpp, Expr in element_expressions.cpp.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "support/row_major.h"
#include "tensor/ir.h"

namespace dlcc::tensor {

inline constexpr int64_t max_reduced_points = 256;  // points of a reduction that is evaluated

// Where an expression is evaluated: the values of variables, and of expressions that were evaluated before.
template <class Value>
struct EvaluationPoint {
  std::map<const VarNode*, Value> variables;
  std::map<const ExprNode*, Value> known;
};

// The index of the element with a row-major position.
inline std::vector<int64_t> index_at(const std::vector<int64_t>& shape, int64_t position) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; position /= shape[d]) index[d] = position % shape[d];
  return index;
}

// The extents, if all are constant and their product is at most `most`.
inline std::optional<std::vector<int64_t>> small_extents(const std::vector<Axis>& axes, int64_t most) {
  std::vector<int64_t> extents;
  for (const Axis& a : axes) {
    if (!a.extent.is_constant()) return std::nullopt;
    extents.push_back(a.extent.value());
  }
  return element_count(extents) <= most ? std::optional(extents) : std::nullopt;
}

// Result `k` of the stage's reduction at a point of its axes; `value(expression, point)` evaluates an expression. Empty
// if the reduction has more than max_reduced_points points.
template <class Value>
Value reduced_value(const Stage& s, size_t k, EvaluationPoint<Value>& point, const auto& value) {
  const Reduction& r = *s.reduction;
  const auto extents = small_extents(r.axes, max_reduced_points);
  if (!extents) return {};
  std::vector<Value> totals;
  for (const Expr& e : r.identity) totals.push_back(value(e, point));
  for (int64_t at = 0; at < element_count(*extents); ++at) {
    const std::vector<int64_t> index = index_at(*extents, at);
    point.known.clear();
    for (size_t d = 0; d < index.size(); ++d) point.variables[r.axes[d].var.get()] = Value(Dim(index[d]));
    for (size_t i = 0; i < totals.size(); ++i) {
      point.variables[r.left[i].get()] = totals[i];
      point.variables[r.right[i].get()] = value(s.values[i], point);
    }
    point.known.clear();
    for (size_t i = 0; i < totals.size(); ++i) totals[i] = value(r.combined[i], point);
  }
  return totals[k];
}

}  // namespace dlcc::tensor
