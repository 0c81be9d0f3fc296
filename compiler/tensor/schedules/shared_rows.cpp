#include "tensor/schedules/shared_rows.h"

#include <map>

#include "tensor/analysis.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The only dimension whose index uses the variable; empty if there is none, or several.
std::optional<size_t> only_dimension(const Load& l, const Var& v) {
  std::optional<size_t> found;
  for (size_t d = 0; d < l.indices.size(); ++d) {
    if (!uses(l.indices[d], v)) continue;
    if (found) return std::nullopt;
    found = d;
  }
  return found;
}

}  // namespace

std::optional<SharedRows> shared_rows(const Stage& stage, int row_axis, int unrolled_axis) {
  if (unrolled_axis < 0) return std::nullopt;
  const Var &x = stage.axes[static_cast<size_t>(row_axis)].var, &u = stage.axes[static_cast<size_t>(unrolled_axis)].var;
  const std::vector<Axis>& reduced = stage.reduction->axes;
  for (const Load& l : loads_of(stage.values[0])) {
    const auto dimension = only_dimension(l, u);
    if (!dimension || l.indices.empty() || !uses(l.indices.back(), x)) continue;
    for (size_t k = 0; k < reduced.size(); ++k) {
      const Dim& taps = reduced[k].extent;
      if (!taps.is_constant() || taps.value() < 2 || only_dimension(l, reduced[k].var) != dimension) continue;
      const Expr& index = l.indices[*dimension];
      const auto step = stride_along(index, u), dilation = stride_along(index, reduced[k].var);
      if (step && dilation && *step > 0 && *dilation > 0) return SharedRows{k, *step, *dilation};
    }
  }
  return std::nullopt;
}

std::vector<std::vector<std::pair<int64_t, int64_t>>> readers_of_rows(const SharedRows& rows, int64_t count,
                                                                      int64_t taps) {
  std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>> readers;
  for (int64_t u = 0; u < count; ++u)
    for (int64_t tap = 0; tap < taps; ++tap) readers[rows.step * u + rows.dilation * tap].emplace_back(u, tap);
  std::vector<std::vector<std::pair<int64_t, int64_t>>> in_order;
  for (auto& [row, pairs] : readers) in_order.push_back(std::move(pairs));
  return in_order;
}

}  // namespace dlcc::tensor
