#include "tensor/schedules/dense_result.h"

#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/schedules/image_rows.h"
#include "tensor/schedules/sizes.h"
#include "tensor/schedules/tiled_reduction.h"
#include "tensor/schedules/winograd.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {
namespace {

// The pixels of a row of the tiled reduction. A 1x1 convolution that reads all pixels has one row (merge_axes.h).
int64_t pixels_of_row(const Stage& stage, const Load& data, int channels) {
  const auto row = row_axis_of(stage);
  if (!row || std::cmp_less_equal(*row, channels)) return 0;
  auto has_taps = [](const std::vector<Axis>& axes) {
    return std::ranges::count_if(axes, [](const Axis& a) { return a.extent != Dim(1); }) > 1;
  };
  auto is_strided = [&](const Axis& a) {
    return std::ranges::any_of(data.indices,
                               [&](const Expr& i) { return uses(i, a.var) && stride_along(i, a.var) != 1; });
  };
  const auto first = stage.axes.begin() + channels + 1, last = stage.axes.begin() + static_cast<std::ptrdiff_t>(*row);
  int64_t pixels = typical_image_size(last->extent);
  if (has_taps(stage.reduction->axes) || std::any_of(first, last + 1, is_strided)) return pixels;
  for (auto axis = first; axis != last; ++axis) pixels *= typical_image_size(axis->extent);
  return pixels;
}

// The axis of the output channels; -1 if there is none, or if they are in groups that do not fill channel blocks.
int axis_of_channels(const TensorFunction& f, const std::vector<bool>& constant) {
  const int in_blocks = channel_axis(f, constant, channel_block);
  if (in_blocks >= 0) return in_blocks;
  const int few = channel_axis(f, constant, 1);  // less than half a block
  if (few < 0) return -1;
  const Var& channel = f.stages[0].axes[static_cast<size_t>(few)].var;
  return n_per_group(find_contraction(f, constant)->data, channel) == 0 ? few : -1;
}

}  // namespace

bool prefers_dense_result(const TensorFunction& f, const std::vector<bool>& constant, const ScheduleOptions& options,
                          const Machine& machine) {
  const int channels = axis_of_channels(f, constant);
  if (channels < 0 || options.strict || machine.vector_bytes == 0 || f.results[0]->rank() < 3) return false;
  if (!is_float(f.stages[0].results[0]->type)) return false;  // bytes have dot products along channels
  if (winograd_tile(f, constant, options, machine) > 0 || !plan_tiled_reduction(f, 0, {}, machine)) return false;
  const Stage& stage = f.stages[0];
  const int64_t n = stage.axes[static_cast<size_t>(channels)].extent.value(), lanes = lanes_of(stage, machine);
  const int64_t pixels = pixels_of_row(stage, find_contraction(f, constant)->data, channels);
  if (pixels == 0 || lanes <= 1) return false;

  // In multiply-adds of one vector for each result.
  double k = 1;
  for (const Axis& a : stage.reduction->axes) k *= static_cast<double>(typical_image_size(a.extent));
  double vectors = 0;
  for (const RowPart& part : cut_row(pixels, 1, lanes, Repetition::allowed)) vectors += static_cast<double>(part.tiles);
  // Channels that end with half a block waste no lanes: pairs of K indices share a vector (ContractionPlan). Fewer
  // channels than that are not interleaved, and have tiles of as few vectors as they fill.
  const bool few = n < channel_block / 2;
  const bool half = n % channel_block != 0 && n % channel_block <= channel_block / 2 &&
                    n <= machine.max_half_blocks_to_interleave * channel_block / 2;
  const int64_t unit = few ? std::min(lanes, channel_block) : half ? channel_block / 2 : channel_block;
  const auto stored = static_cast<double>(round_up(n, unit));
  const double of_pixels = k * vectors / static_cast<double>(pixels) * machine.dense_result_overhead;
  const double of_channels = k * stored / static_cast<double>(n * lanes) + machine.dense_copy_cost;
  return of_pixels < of_channels;
}

}  // namespace dlcc::tensor
