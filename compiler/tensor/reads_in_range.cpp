#include "tensor/reads_in_range.h"

#include <algorithm>
#include <set>

#include "tensor/analysis.h"
#include "tensor/linear.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The smallest and the largest index that is read; empty if the bounds of the index are not certainly reached. A sum of
// multiples of different axes reaches both.
std::optional<Range> indices_read(const Expr& index, const Ranges& axes) {
  const Expr simple = simplify(index, axes);
  ExprOrder order;
  const bool is_sum_of_axes = std::ranges::all_of(linear_form(simple, order).terms, [&](const auto& term) {
    const VarRef* axis = as<VarRef>(term.first);
    return axis && axes.contains(axis->var);
  });
  return is_sum_of_axes ? range_of(simple, axes) : std::nullopt;
}

std::optional<std::string> out_of_range(const Load& load, const Expr& whole, const Ranges& axes) {
  const Shape& shape = load.buffer->shape;
  for (size_t d = 0; d < std::min(shape.size(), load.indices.size()); ++d) {
    const auto size = shape[d].constant();
    const auto read = size ? indices_read(load.indices[d], axes) : std::nullopt;
    if (!read || (read->low >= 0 && read->high < *size)) continue;
    return fmt::format("{} reads index {} of axis {}, which has {} elements", print(whole),
                       read->low < 0 ? read->low : read->high, d, *size);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_out_of_range(const Stage& stage) {
  auto is_empty = [](const Axis& a) { return a.extent.constant().value_or(1) == 0; };
  if (!stage.requirements.empty() || std::ranges::any_of(stage.axes, is_empty) ||
      (stage.reduction && std::ranges::any_of(stage.reduction->axes, is_empty)))
    return std::nullopt;
  const Ranges axes = ranges_of(stage);
  for (const Expr& value : stage.values) {
    std::set<const ExprNode*> selected;  // nodes in arms of selects, which may not be evaluated
    for_each_expr(value, [&](const Expr& e) {
      const Select* select = as<Select>(e);
      if (!select) return;
      for (const Expr& arm : {select->a, select->b})
        for_each_expr(arm, [&](const Expr& part) { selected.insert(&*part); });
    });
    std::optional<std::string> found;
    for_each_expr(value, [&](const Expr& e) {
      const Load* load = as<Load>(e);
      if (!found && load && !load->otherwise && !selected.contains(&*e)) found = out_of_range(*load, e, axes);
    });
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace dlcc::tensor
