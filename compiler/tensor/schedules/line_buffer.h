// Line-buffer fusion (fused-layer tiling: Alwani et al., "Fused-Layer CNN Accelerators", 2016) of a contraction and the
// window reduction that alone reads its result: a 1x1 convolution and a depthwise convolution, a convolution and its
// pooling. Both run over one row band and one panel of channels at a time, so that the intermediate image stays in the
// cache and is never stored as a whole:
//
//   for batch: parallel worker: for (row band, panel) in the worker's share:               # a work item
//     line_buffer[worker, channel of the panel, row, x] = contraction                       # rows_computed() rows
//     line_buffer[worker, channel of the panel, row, x] = padding                           # rows outside the image
//     result[channel, band * rows + row, x] = window reduction of line_buffer               # `rows` rows
//
// Neighbouring row bands share window_height - stride rows, which both compute. The line buffer is stored in
// blocks of 16 channels, with a halo of zeros along x if the padding is zero. The producer's weights are packed as in
// contraction.h, the consumer's as in window_reduction.h.
//
// Where memory is scarce (Machine::memory_is_scarce), images are stored with the channels last, and so are the line
// buffer and the consumer's weights. Panels are narrow there: usually, the line buffer holds two channels of all rows,
// so that nothing is computed twice.
//
// In an image of symbolic height or width, the number of rows of a row band suits the typical size, 224, and the rows
// of the line buffer are filled one by one:
//
//   for row < rows_read():
//     if the image has row `read + row`: line_buffer[worker, channel, row, x] = contraction, of one row
//     else:                              line_buffer[worker, channel, row, x] = padding
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/schedules/contraction.h"
#include "tensor/schedules/schedule.h"
#include "tensor/schedules/window_reduction.h"

namespace dlcc::tensor {

// Decisions shared by all machines. A work item is one panel of one row band; "band" is short for row band.
struct LineBufferPlan {
  ContractionPlan producer;
  WindowReductionPlan consumer;
  Buffer intermediate;  // the producer's result in the definition; never stored as a whole
  Buffer line_buffer;   // scratch in its place: [worker][channel of the panel][row of the band][x]
  Layout line_buffer_layout;
  int64_t block = channel_block;  // channels that are computed and stored together; 1: channels are stored last
  int row_dim = 0;   // dimension of `intermediate` that is cut into bands; the next one is x
  int row_axis = 0;  // the consumer's axis along row_dim
  // Other dimensions of `intermediate`, such as the batch, and the consumer's axes at which they are read; -1: one
  // element.
  std::vector<std::pair<int, int>> batch_dims;
  // The consumer's row r reads the rows [stride * r + first_read, stride * r + first_read + window_height).
  int64_t stride = 1, first_read = 0, window_height = 1;
  Expr padding;      // a literal: the value read outside of the image; null: nothing is read there
  int64_t rows = 1;  // rows of the result in a band
  int64_t panels = 1;
  int workers = 1;  // threads that share the work items

  const Dim& extent(int dim) const { return intermediate->shape[static_cast<size_t>(dim)]; }
  const Dim& height() const { return extent(row_dim); }
  const Dim& width() const { return extent(row_dim + 1); }
  const Axis& consumer_axis(int k) const { return consumer.reduced.axes[static_cast<size_t>(k)]; }
  const Dim& result_rows() const { return consumer_axis(row_axis).extent; }
  bool is_static_image() const { return height().is_constant() && width().is_constant(); }
  Dim bands() const { return floor_div(result_rows() + Dim(rows - 1), rows); }

  // Rows of the intermediate image that a band reads, including rows outside the image.
  int64_t rows_read() const { return (rows - 1) * stride + window_height; }
  // Rows that are computed for each band of a static image, all of which are inside.
  int64_t rows_computed() const { return std::min(rows_read(), height().value()); }
  // Rows that the last band of a static image computes above the rows that it reads: every band computes the same
  // number of rows, and the last band has fewer rows of the image below. A band of a symbolic image computes only rows
  // that it reads.
  int64_t rows_above() const {
    if (!is_static_image()) return 0;
    const int64_t last_read = (bands().value() - 1) * rows * stride + first_read;
    return std::max<int64_t>(last_read + rows_computed() - height().value(), 0);
  }
};

// The plan for a function that split_at_window_reduction (tensor/analysis.h) splits. Empty when the two parts do not
// have the same axis of channels, or the consumer reads the rows in another way. `layouts` and `constant` as in
// ScheduleRequest; the machine is the storage machine.
std::optional<LineBufferPlan> plan_line_buffer(const TensorFunction&, const std::vector<Layout>& layouts,
                                               const std::vector<bool>& constant, const ScheduleOptions&,
                                               const Machine&, const TuningConfig& = {});

// The bytes of the line buffer where memory is scarce and images are stored with the channels last. Empty if there is
// no plan that reads the producer's data where it is stored.
std::optional<int64_t> line_buffer_bytes(const TensorFunction&, const std::vector<bool>& constant,
                                         const ScheduleOptions&, const Machine&);

// Whether line-buffer fusion is estimated to be faster than two functions, if images are stored in blocks of channels:
// the intermediate image does not fit the cache, and transferring it takes longer than computing the rows that bands
// share a second time.
bool prefers_line_buffer(const TensorFunction&, const std::vector<bool>& constant, const ScheduleOptions&,
                         const Machine&);

// `layouts` of parameters, results, the line buffer and the consumer's constants.
Stmt schedule_line_buffer(const LineBufferPlan&, const std::map<Buffer, Layout>& layouts, const Machine&,
                          const TuningConfig& = {});

}  // namespace dlcc::tensor
