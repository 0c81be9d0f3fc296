// Winograd's minimal filtering as a schedule of 3x3 convolutions with stride 1 and constant weights (Lavin and Gray,
// "Fast Algorithms for Convolutional Neural Networks", 2016): tiles of outputs are computed from transformed tiles of
// inputs by elementwise products, which over all channels are small matrix products.
//
// F(4x4) needs a quarter of the direct multiplications and loses about one decimal digit; F(2x2) needs 4/9 of them and
// loses nothing. Weights are transformed at compile time and grow 4 and 16/9 times.
#pragma once

#include <optional>
#include <vector>

#include "support/constant.h"
#include "tensor/analysis.h"
#include "tensor/machine.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// An axis of the image: the output's axis of the stage, the tap's reduced axis, and where their sum is an index of the
// data.
struct WindowAxis {
  int axis = -1, term = -1, dim = -1;
  int64_t begin = 0;  // index of the data that output 0 and tap 0 read: minus the padding
};

// Decisions shared by all machines, because they concern memory.
struct WinogradPlan {
  static constexpr int64_t taps = 3;

  TensorFunction function;
  Contraction contraction;
  int n_axis = -1, channel_k = -1;  // output channels; input channels
  int channel_dim = -1;             // of the data
  std::vector<int> batch_axes;      // all other axes of the stage
  WindowAxis y, x;
  int64_t tile = 4;    // outputs of a tile along either axis
  int64_t block = 1;   // tiles transformed together
  int64_t panel = 16;  // output channels computed together; divides their number
  Buffer weights;      // [panel][point][input channel][channel of the panel]: what pack_winograd_weights gives
  // Threads share the blocks, if each may have all weights in its cache or has several tiles; else they share the
  // panels of every block.
  int64_t workers = 1, shares = 1;
  Buffer transformed;  // scratch: input tiles of one block, [worker][channel block][point][tile][channel]
  Buffer products;     // scratch: one panel's products, [worker or share][tile][point and channel of the panel]

  int64_t extent(int axis) const { return function.stages[0].axes[static_cast<size_t>(axis)].extent.value(); }
  int64_t in_channels() const {
    return function.stages[0].reduction->axes[static_cast<size_t>(channel_k)].extent.value();
  }
  int64_t tiles_along(const WindowAxis& w) const { return (extent(w.axis) + tile - 1) / tile; }
};

// Outputs of a tile along either axis that suits the function, or 0 when it is no such convolution, or too small.
// The machine is the deciding one, here and below.
int64_t winograd_tile(const TensorFunction&, const std::vector<bool>& constant, const ScheduleOptions&, const Machine&);

// Empty when the function, or how its operands are stored, does not suit: the data and the result must be stored in
// blocks of channels, and the data must have zeros round it as far as whole tiles read. `layouts` and `constant` as in
// ScheduleRequest.
std::optional<WinogradPlan> plan_winograd(const TensorFunction&, const std::vector<Layout>& layouts,
                                          const std::vector<bool>& constant, const ScheduleOptions&, const Machine&,
                                          const TuningConfig& = {});

// The indices of the data that whole tiles read, for each dimension.
std::vector<Range> winograd_reads(const TensorFunction&, const std::vector<bool>& constant, int64_t tile);

Stmt schedule_winograd(const WinogradPlan&, const Machine&);

// The function's weights, transformed: G w G^T of every pair of channels, in the order of WinogradPlan::weights.
Constant pack_winograd_weights(const WinogradPlan&, const Constant& weights);

}  // namespace dlcc::tensor
