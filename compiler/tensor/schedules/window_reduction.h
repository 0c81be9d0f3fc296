// The schedule of reductions over windows whose vectors are neighbouring results: depthwise convolution, pooling, means
// over an image, sums along the rows of a matrix. Results along a row are accumulated together in a register tile, so
// that neighbouring windows share loads:
//
//   parallel blocks of 16 channels: for outer axes (batch, y): for tile of the row: for vector of the block:
//     acc[block, x, lane] = identity                                # registers
//     for reduced axes but the innermost (ky):                      # one test for a row outside the image
//       unrolled innermost reduced axis (kx):
//         acc[block, x, lane] = combine(acc, data[channel, y + ky, left + x + kx] * weights[channel, ky, kx])
//     result[channel, y, left + x] = epilogue(acc)
//
// Long sums of floats are divided into partial sums, each of which is added to `total` (window_reduction_tiling.cpp).
// Constants are stored in blocks of 16 channels, [channels / 16] [ky] [kx] [16]; other operands are read as they are
// stored.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/ir.h"
#include "tensor/machine.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

// Decisions about memory, shared by all machines.
struct WindowReductionPlan {
  Stage reduced;                  // the stage, its indices simplified
  std::optional<Stage> epilogue;  // the next stage, if it reads the results at its own index
  int lane_axis = -1;             // the stage's axis of the lanes: all operands are contiguous along it
  bool whole_blocks = false;      // storage of operands and result has room for whole blocks of lanes
  std::vector<std::pair<Buffer, Layout>> constants;  // layouts in which constants must be stored
};

// The plan for stage `k`, with the next stage where that is an epilogue. Empty when the stage has no reduction, or when
// its operands are not contiguous along the result's innermost axis. `layouts` of parameters and results (absent:
// dense); `constant` as in ScheduleRequest.
std::optional<WindowReductionPlan> plan_window_reduction(const TensorFunction&, size_t k,
                                                         const std::map<Buffer, Layout>& layouts,
                                                         const std::vector<bool>& constant);

// `layouts` as above, with those of `constants`. Blocks of lanes are parallel loops, shared by `threads` threads.
Stmt schedule_window_reduction(const WindowReductionPlan&, const std::map<Buffer, Layout>& layouts, const Machine&,
                               int threads);

// A part of the results, for line-buffer fusion: the lanes [first_lane, first_lane + lanes), and along row_axis the
// rows [first_row, first_row + rows), as far as they exist.
struct WindowReductionArea {
  Expr first_lane;
  int64_t lanes = 0;
  int row_axis = -1;
  Var row;  // the loop over the rows: the row minus first_row
  Expr first_row;
  int64_t rows = 0;
  std::vector<int> free_axes = {};  // axes whose variables are free in the area's code
  Ranges known = {};                // ranges of `row` and of other free variables of the plan's expressions
};
Stmt schedule_area(const WindowReductionPlan&, const WindowReductionArea&, const std::map<Buffer, Layout>& layouts,
                   const Machine&);

}  // namespace dlcc::tensor
