// The decisions about a window reduction that all machines share: the axis of the lanes, and the layout of constants.
#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/layout.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/image_rows.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/window_reduction.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Whether the storage has whole channel blocks along dimension `d`.
bool has_blocks(const Layout& layout, int d) {
  return !layout.is_dense() && layout.parts.back().axis == d && layout.parts.back().extent == Dim(channel_block) &&
         std::ranges::count(layout.parts, d, &Layout::Part::axis) == 2;
}

// Whether neighbours along dimension `d` of the buffer are stored next to each other, at least within blocks.
bool is_innermost(const Buffer& b, const Layout& layout, int d) {
  if (!layout.is_dense())
    return has_blocks(layout, d) ||
           (layout.parts.back().axis == d && std::ranges::count(layout.parts, d, &Layout::Part::axis) == 1);
  return is_innermost(*b, static_cast<size_t>(d));
}

class WindowReductionPlanner {
 public:
  WindowReductionPlanner(const TensorFunction& f, size_t k, const std::map<Buffer, Layout>& layouts,
                         const std::vector<bool>& constant)
      : f_(f), k_(k), layouts_(layouts), constant_(constant) {}

  std::optional<WindowReductionPlan> run() {
    const Stage& stage = f_.stages[k_];
    const bool is_empty = std::ranges::any_of(stage.axes, [](const Axis& a) { return a.extent == Dim(0); });
    if (!is_plain(stage) || !stage.reduction || is_empty) return std::nullopt;
    for (const Axis& a : stage.reduction->axes)
      if (!a.extent.is_constant()) return std::nullopt;
    plan_.reduced = stage;
    Ranges ranges = ranges_of(stage);
    for (Expr& v : plan_.reduced.values) v = simplify(v, ranges);
    plan_.epilogue = find_epilogue(f_, k_);
    if (!choose_lanes()) return std::nullopt;
    return plan_;
  }

 private:
  const Stage& last() const { return plan_.epilogue ? *plan_.epilogue : plan_.reduced; }

  bool is_constant(const Buffer& b) const {
    for (size_t k = 0; k < f_.params.size(); ++k)
      if (f_.params[k] == b) return constant_[k];
    return false;
  }

  // Makes the axis along which the result is contiguous the axis of the lanes; false unless all operands are contiguous
  // along it, too.
  bool choose_lanes() {
    const Buffer& result = last().results[0];
    Layout layout = layout_of(layouts_, result);
    for (int a = 0; a < result->rank(); ++a)
      if (is_innermost(result, layout, a) &&
          (plan_.lane_axis < 0 || last().axes[static_cast<size_t>(a)].extent != Dim(1)))
        plan_.lane_axis = a;
    if (plan_.lane_axis < 0 || !last().axes[static_cast<size_t>(plan_.lane_axis)].extent.is_constant()) return false;
    plan_.whole_blocks = has_blocks(layout, plan_.lane_axis);
    bool along = false;
    if (!check_operands(plan_.reduced, along) || !along) return false;
    return !plan_.epilogue || check_operands(*plan_.epilogue, along);
  }

  bool check_operands(const Stage& stage, bool& along) {
    const Var& lane = stage.axes[static_cast<size_t>(plan_.lane_axis)].var;
    for (const Load& l : loads_of(stage.values[0])) {
      if (l.buffer == plan_.reduced.results[0]) continue;
      auto d = dimension_along(l, lane);
      if (!d) return false;
      if (*d < 0) continue;
      Layout layout = layout_of(layouts_, l.buffer);
      if (is_constant(l.buffer) && layout.is_dense() && bits(l.buffer->type) >= 8) {
        store_in_blocks(l.buffer, *d);
        continue;
      }
      if (!is_innermost(l.buffer, layout, *d)) return false;
      along = true;
      // Outside the logical shape a predicated load gives its `otherwise` value, not the padding of the last block.
      if (!has_blocks(layout, *d) || l.otherwise) plan_.whole_blocks = false;
    }
    return true;
  }

  void store_in_blocks(const Buffer& b, int d) {
    for (const auto& [known, layout] : plan_.constants)
      if (known == b) return;
    plan_.constants.emplace_back(b, blocked_layout(b->shape, d, channel_block, Layout::Tail::zero));
  }

  const TensorFunction& f_;
  size_t k_;
  const std::map<Buffer, Layout>& layouts_;
  const std::vector<bool>& constant_;
  WindowReductionPlan plan_;
};

}  // namespace

std::optional<WindowReductionPlan> plan_window_reduction(const TensorFunction& f, size_t k,
                                                         const std::map<Buffer, Layout>& layouts,
                                                         const std::vector<bool>& constant) {
  return WindowReductionPlanner(f, k, layouts, constant).run();
}

}  // namespace dlcc::tensor
