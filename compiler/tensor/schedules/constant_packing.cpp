#include "tensor/schedules/constant_packing.h"

#include <algorithm>

#include "tensor/layout.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Whether every load of the parameter, such as a bias, has one index, and this index is the axis. False without loads.
bool read_along(const Stage& stage, const Buffer& b, int axis) {
  bool found = false;
  for (const Expr& v : stage.values)
    for (const Load& l : loads_of(v)) {
      if (l.buffer != b) continue;
      const VarRef* ref = l.indices.size() == 1 ? as<VarRef>(l.indices[0]) : nullptr;
      if (!ref || ref->var != stage.axes[static_cast<size_t>(axis)].var) return false;
      found = true;
    }
  return found;
}

}  // namespace

void pad_constant_vectors(const ScheduleRequest& r, std::vector<Layout>& layouts) {
  const Stage& last = r.function.stages.back();
  auto result = std::ranges::find(r.function.results, last.results[0]);
  if (result == r.function.results.end()) return;
  const Layout& layout = layouts[r.function.params.size() + static_cast<size_t>(result - r.function.results.begin())];
  if (layout.is_dense()) return;
  int axis = layout.parts.back().axis;
  if (std::ranges::count(layout.parts, axis, &Layout::Part::axis) == 1) return;  // no blocks, no padding
  int64_t block = layout.parts.back().extent.value();
  for (size_t k = 0; k < r.function.params.size(); ++k) {
    const Buffer& b = r.function.params[k];
    if (r.constant[k] && b->rank() == 1 && bits(b->type) >= 8 && read_along(last, b, axis))
      layouts[k] = blocked_layout(b->shape, 0, block, Layout::Tail::zero);
  }
}

}  // namespace dlcc::tensor
