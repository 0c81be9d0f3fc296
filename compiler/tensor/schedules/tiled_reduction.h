// The schedule of reductions over dense images, whose vectors are neighbouring results of a row: pooling, depthwise
// convolutions, convolutions whose groups do not fill channel blocks, and those whose result stays dense
// (dense_result.h). A register tile spans several vectors of the row and several indices of another axis of the result,
// the unrolled axis, so that loads are shared and additions do not wait for each other:
//
//   padded[..] = operand, or the value read outside of it        # scratch, for operands with predicated loads
//   parallel outer axes of the result: parallel tile of the unrolled axis: for tile of the row:
//     acc[u, v, lane] = identity                                 # registers
//     for reduced axes, the innermost one unrolled if it is short, without taps that read padding only (tap_axes.h):
//       unrolled u, v: vector lane:
//         acc[u, v, lane] = combine(acc[u, v, lane], value(u, left + v * lanes + lane))
//     result[.., u, .., left + v * lanes + lane] = epilogue(acc[u, v, lane])
//
// The loop over the tiles of the unrolled axis encloses those over the axes after it if the weights are too large for
// the level-1 cache. For a convolution, the unrolled axis is that of the output channels: the tile's vectors of data
// are loaded once for all of its channels. Operands are read as they are stored, except for padding and strides
// (padded_copy.h).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tensor/ir.h"
#include "tensor/machine.h"
#include "tensor/schedules/padded_copy.h"
#include "tensor/schedules/tap_axes.h"

namespace dlcc::tensor {

// Decisions about memory, shared by all machines.
struct TiledReductionPlan {
  Stage reduced;                  // reads the padded copies in place of their operands
  std::optional<Stage> epilogue;  // the next stage, if it reads the results at its own index
  // Whether the epilogue reads an operand whose memory the result may have: one of the result's shape (in_place.h,
  // passes/shrink_scratch.h). No result may then be computed twice.
  bool may_overwrite_operand = false;
  int row_axis = -1;  // the axis of the result along which vectors run, the innermost of its storage
  // Whether the stage reads a result of an earlier stage. A tile then has one row. If that result is stored in blocks
  // of `block` rows, blocked_axis is the axis of the rows (else -1), and becomes a loop over blocks and a loop over the
  // rows of a block, so that row fusion can fuse the loops over blocks of both stages.
  bool by_row = false;
  int blocked_axis = -1;
  int64_t block = 1;
  std::vector<PaddedCopy> copies;
  std::vector<TapAxis> tap_axes;  // of the loads that are zero outside of their operand
};

// The plan for stage `k`, with the next stage where that is an epilogue. Sizes may be symbolic. Empty if the result is
// not dense, or an operand's elements along the row do not have a small constant distance in memory. `layouts` of
// parameters and results (absent: dense); the machine is the storage machine.
std::optional<TiledReductionPlan> plan_tiled_reduction(const TensorFunction&, size_t k,
                                                       const std::map<Buffer, Layout>& layouts, const Machine&);

// Whether a tile loads a vector of the row once for several indices of the unrolled axis.
bool shares_vectors(const TiledReductionPlan&, const Machine&);

Stmt schedule_tiled_reduction(const TiledReductionPlan&, const Machine&);

}  // namespace dlcc::tensor
