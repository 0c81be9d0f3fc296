// Winograd convolution F(m x m, 3 x 3) with stride 1 and constant weights, m = 2 or 4 (Lavin and Gray, "Fast Algorithms
// for Convolutional Neural Networks", 2016): m x m outputs are computed from the (m + 2) x (m + 2) points of a
// transformed input tile by elementwise products, which over all channels are one small matrix product for each point.
//
//   for batch: parallel worker: for block of tiles:           # tiles_per_block tiles, for an L2 cache of 1 MiB
//     parallel channel block, parallel tile:                  # transform_input
//       transformed[worker, channel block, point, tile, channel] = B^T d B
//     parallel share: for panel of the share:
//       parallel point:                                       # a product of tiles (M) x input channels (K) x panel (N)
//         acc[tile, n] += transformed[worker, .., point, tile, k] * weights[panel, point, k, n]   # register tiles
//         products[worker or share, tile, point, n] = acc     # prefetches the weights of the next point
//       parallel tile: for vector of the panel:               # transform_output
//         result[pixels of the tile, panel, n] = epilogue(A^T products A)
//
// Weights are transformed and packed at compile time, G g G^T as [panel] [point] [input channel] [panel_width]. They
// grow by a factor of 4 with F(4x4) and of 16/9 with F(2x2). F(4x4) needs a quarter of the multiplications of the
// direct convolution and loses about one decimal digit; F(2x2) needs 4/9 of them and loses no accuracy.
//
// The height and the width of the image may be symbolic. The tile and the block are those for the typical size, 224
// (shape/typical_sizes.h). The number of blocks is found at run time, and the last block has register tiles of fewer
// rows for its remaining tiles.
#pragma once

#include <optional>
#include <vector>

#include "support/constant.h"
#include "support/integers.h"
#include "tensor/analysis.h"
#include "tensor/machine.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// An axis of the image: the stage's axis of outputs, the reduced axis of taps, and the dimension of the data whose
// index is output + tap + begin.
struct WindowAxis {
  int axis = -1, tap = -1, dim = -1;
  int64_t begin = 0;  // minus the padding
};

// Decisions about memory, shared by all machines.
struct WinogradPlan {
  static constexpr int64_t taps = 3;

  TensorFunction function;
  Contraction contraction;
  int n_axis = -1, channel_k = -1;  // output channels; input channels
  int channel_dim = -1;             // the data's dimension of input channels
  std::vector<int> batch_axes;      // all other axes of the stage
  WindowAxis y, x;
  int64_t tile = 4;                     // m: outputs of a tile along either axis
  int64_t tiles_per_block = 1;          // input tiles transformed together
  int64_t panel_width = channel_block;  // output channels of a panel; divides their number
  Buffer weights;                       // transformed: [panel][point][input channel][channel of the panel]
  // Threads share the blocks of tiles if the weights fit each thread's cache or each thread has several tiles.
  // Otherwise they share the panels of every block.
  int64_t workers = 1, panel_shares = 1;
  Buffer transformed;  // scratch: input tiles of one block, [worker][channel block][point][tile][channel]
  Buffer products;     // scratch: one panel's products, [worker or share][tile][point and channel of the panel]

  int64_t extent(int axis) const { return function.stages[0].axes[static_cast<size_t>(axis)].extent.value(); }
  int64_t in_channels() const {
    return function.stages[0].reduction->axes[static_cast<size_t>(channel_k)].extent.value();
  }
  const Dim& size(int axis) const { return function.stages[0].axes[static_cast<size_t>(axis)].extent; }
  bool is_static_image() const { return size(y.axis).is_constant() && size(x.axis).is_constant(); }
  Dim tiles_along(const WindowAxis& w) const { return floor_div(size(w.axis) + Dim(tile - 1), tile); }
};

// The tile size m that takes the least estimated time; 0 when the function is no such convolution, or the direct
// schedule is faster. The machine is the storage machine, here and below.
int64_t winograd_tile(const TensorFunction&, const std::vector<bool>& constant, const ScheduleOptions&, const Machine&);

// Empty when the schedule does not apply: the data and the result must be stored in blocks of channels, the data with a
// halo of zeros as wide as whole tiles read. `layouts` and `constant` as in ScheduleRequest.
std::optional<WinogradPlan> plan_winograd(const TensorFunction&, const std::vector<Layout>& layouts,
                                          const std::vector<bool>& constant, const ScheduleOptions&, const Machine&,
                                          const TuningConfig& = {});

// The halo that whole tiles read around each dimension of the data; empty if it has no constant bound.
std::vector<Halo> winograd_halo(const TensorFunction&, const std::vector<bool>& constant, int64_t tile);

Stmt schedule_winograd(const WinogradPlan&, const Machine&);

// The function's weights, transformed: G g G^T for each pair of channels, in the order of WinogradPlan::weights.
Constant pack_winograd_weights(const WinogradPlan&, const Constant& weights);

}  // namespace dlcc::tensor
