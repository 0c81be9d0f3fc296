#include "tensor/schedules/row_blocks.h"

#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/passes/merge_axes.h"
#include "tensor/schedules/block_loops.h"
#include "tensor/schedules/contraction.h"
#include "tensor/schedules/sizes.h"
#include "tensor/slices.h"

namespace dlcc::tensor {
namespace {

// Whether the function is a contraction with two axes, M and N, of which M occurs in the data only.
bool is_product_of_rows(const Slices& slices, const std::vector<bool>& constant) {
  const TensorFunction& f = slices.slice;
  auto contraction = slices.axes == 1 ? find_contraction(f, constant) : std::nullopt;
  if (!contraction || f.stages[0].axes.size() != 2) return false;
  auto is_sliced = [&](const Load& l) {
    return slices.sliced[static_cast<size_t>(std::ranges::find(f.params, l.buffer) - f.params.begin())];
  };
  return is_sliced(contraction->data) && !is_sliced(contraction->weights);
}

// The configuration for blocks of all sizes: the panel width that the largest blocks would choose, if they have panels.
TuningConfig shared_config(const ScheduleRequest& r) {
  TuningConfig config = r.config;
  if (auto plan =
          plan_contraction(r.function, r.layouts, r.constant, r.options, storage_machine(r.machines), false, r.config))
    config.panel_width = plan->panel_width;
  return config;
}

}  // namespace

std::optional<ScheduledFunction> schedule_row_blocks(const ScheduleRequest& r) {
  if (symbols_of(r.function).empty() || has_body(r.function)) return std::nullopt;
  ScheduleRequest whole = r;
  for (size_t k = 0; k < r.constant.size(); ++k)
    if (r.constant[k]) whole.layouts[k] = {};
  if (std::ranges::any_of(whole.layouts, [](const Layout& l) { return !l.is_dense(); })) return std::nullopt;
  merge_axes(whole.function, whole.layouts);
  std::vector<RowBlock> blocks;
  std::optional<Slices> slices;
  for (int64_t rows : storage_machine(r.machines).row_block_sizes) {
    auto block = find_slices(whole.function, rows);
    if (!block || !is_product_of_rows(*block, r.constant)) return std::nullopt;
    ScheduleRequest of_block = whole;
    of_block.function = block->slice;
    if (!slices) {
      whole.config = of_block.config = shared_config(of_block);
      slices = block;
    }
    blocks.push_back({rows, schedule(std::move(of_block))});
  }
  return join_row_blocks(r.function, *slices, blocks);
}

}  // namespace dlcc::tensor
