// The schedule of reductions whose lanes are neighbouring results: depthwise convolution, pooling, means over an image,
// sums of columns. A tile of results along a row is kept in registers while its terms are folded, so that neighbouring
// results share their loads; an elementwise stage behind it works on the tile.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/ir.h"
#include "tensor/machine.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

// Decisions shared by all machines, because they concern memory.
struct WindowReductionPlan {
  Stage reduced;                  // the stage, its indices simplified
  std::optional<Stage> epilogue;  // the stage behind it, which reads its results at its own index
  int lane_axis = -1;             // lanes run along this axis: storage of all operands is contiguous along it
  bool whole_blocks = false;      // storage of operands and result has room for whole blocks of lanes
  std::vector<std::pair<Buffer, Layout>> constants;  // how constants are to be stored
};

// The plan for stage `k` and perhaps the one behind it. Empty when the stage is not reduced, or when its operands are
// not contiguous along the result's innermost axis. `layouts` tells how parameters and results are stored (absent:
// dense); `constant` as in ScheduleRequest.
std::optional<WindowReductionPlan> plan_window_reduction(const TensorFunction&, size_t k,
                                                         const std::map<Buffer, Layout>& layouts,
                                                         const std::vector<bool>& constant);

// `layouts` as above, with those of `constants`; blocks of lanes are parallel, for so many threads.
Stmt schedule_window_reduction(const WindowReductionPlan&, const std::map<Buffer, Layout>& layouts, const Machine&,
                               int threads);

// A part of the results, for schedules that interleave windows with others: lanes, and rows along one axis, of which
// those beyond the end are left out.
struct WindowReductionArea {
  Expr first_lane;
  int64_t lanes = 0;
  int row_axis = -1;
  Var row;  // counts the rows from the first one on
  Expr first_row;
  int64_t rows = 0;
  std::vector<int> fixed_axes = {};  // whose variables are free in the area's code
  Ranges known = {};                 // of `row` and of other variables, where the plan's expressions use them
};
Stmt schedule_area(const WindowReductionPlan&, const WindowReductionArea&, const std::map<Buffer, Layout>& layouts,
                   const Machine&);

}  // namespace dlcc::tensor
