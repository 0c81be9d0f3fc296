// The schedule of a contraction whose result nothing but a reduction in windows reads: a 1x1 convolution and the
// depthwise one behind it, a convolution and its pooling. Both are computed strip by strip of the image and panel by
// panel of channels, so that what passes between them stays in the cache and has no place in memory of its own.
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

// Decisions shared by all machines. An item of work is one panel of one strip.
struct LineBufferPlan {
  ContractionPlan producer;
  WindowReductionPlan consumer;
  Buffer passed;  // the producer's result: named in the definition, never stored as a whole
  Buffer strip;   // scratch in its place: [worker][column of the panel][row of the strip][column of the image]
  Layout strip_layout;
  int row_dim = 0;   // dimension of `passed` that is cut into strips; the next one is the image's columns
  int row_axis = 0;  // the consumer's axis of it
  // Other dimensions of `passed`, such as the batch, and the consumer's axes at which they are read; -1: one element.
  std::vector<std::pair<int, int>> fixed;
  // The consumer's row r reads rows of `passed` from step * r + before on, the last of them window - 1 behind.
  int64_t step = 1, before = 0, window = 1;
  Expr outside;      // a literal: what is read outside of the image; null: nothing is
  int64_t rows = 1;  // of results that a strip gives
  int64_t strips = 1, panels = 1;
  int workers = 1;  // that share the items

  int64_t extent(int dim) const { return passed->shape[static_cast<size_t>(dim)].value(); }
  int64_t height() const { return extent(row_dim); }
  int64_t width() const { return extent(row_dim + 1); }
  const Axis& consumer_axis(int k) const { return consumer.reduced.axes[static_cast<size_t>(k)]; }
  int64_t results() const { return consumer_axis(row_axis).extent.value(); }  // rows of them

  // Rows that a strip reads, some of them perhaps outside of the image; and those computed for it, all inside.
  int64_t rows_read() const { return (rows - 1) * step + window; }
  int64_t rows_computed() const { return std::min(rows_read(), height()); }
  // Rows that the last strip computes in front of those that it reads, as there are none behind them.
  int64_t rows_in_front() const {
    return std::max<int64_t>((strips - 1) * rows * step + before + rows_computed() - height(), 0);
  }
};

// The plan for a function that split_at_window_reduction (tensor/analysis.h) takes apart. Empty when the parts do not
// suit: they must agree about the axis of channels. `layouts` and `constant` as in ScheduleRequest; the machine is the
// deciding one.
std::optional<LineBufferPlan> plan_line_buffer(const TensorFunction&, const std::vector<Layout>& layouts,
                                               const std::vector<bool>& constant, const ScheduleOptions&,
                                               const Machine&, const TuningConfig& = {});

// Whether the function is better computed in strips than in two functions, when images are stored in blocks of
// channels: what passes between them does not stay in the cache, and to fetch it takes longer than to compute some of
// its rows twice.
bool line_buffer_pays(const TensorFunction&, const std::vector<bool>& constant, const ScheduleOptions&, const Machine&);

// `layouts` tells how parameters, results and the strip are stored, and the consumer's constants.
Stmt schedule_line_buffer(const LineBufferPlan&, const std::map<Buffer, Layout>& layouts, const Machine&,
                          const TuningConfig& = {});

}  // namespace dlcc::tensor
