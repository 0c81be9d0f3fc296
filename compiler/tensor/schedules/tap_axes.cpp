#include "tensor/schedules/tap_axes.h"

#include <algorithm>

#include "support/integers.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The position of the only axis that the index uses; -1 if it uses none or several.
int only_axis_in(const Expr& index, const std::vector<Axis>& axes) {
  int found = -1;
  for (size_t k = 0; k < axes.size(); ++k) {
    if (!uses(index, axes[k].var)) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(k);
  }
  return found;
}

// Whether the value is zero where the load is.
bool vanishes_with(const Load& data, const Expr& value) {
  if (const Load* l = as<Load>(value))
    return l->buffer == data.buffer && std::ranges::equal(l->indices, data.indices, structurally_equal);
  if (const Cast* c = as<Cast>(value)) return vanishes_with(data, c->a);
  const Binary* b = as<Binary>(value);
  return b && b->op == BinaryOp::mul && (vanishes_with(data, b->a) || vanishes_with(data, b->b));
}

}  // namespace

std::vector<TapAxis> tap_axes(const Load& data, const Stage& stage) {
  const bool is_sum = stage.reduction && reducer_kind(*stage.reduction) == ReducerKind::sum;
  const bool is_zero = data.otherwise && is_literal(data.otherwise, 0);
  if (!is_sum || !is_zero || !vanishes_with(data, stage.values[0])) return {};
  std::vector<TapAxis> found;
  for (size_t d = 0; d < data.indices.size(); ++d) {
    const Expr& index = data.indices[d];
    const Dim& extent = data.buffer->shape[d];
    const int pixel = only_axis_in(index, stage.axes), tap = only_axis_in(index, stage.reduction->axes);
    if (pixel < 0 || tap < 0 || !extent.is_constant()) continue;
    const Axis &pixels = stage.axes[static_cast<size_t>(pixel)],
               &taps = stage.reduction->axes[static_cast<size_t>(tap)];
    const auto step = stride_along(index, pixels.var), dilation = stride_along(index, taps.var);
    const auto origin = constant_integer(simplify(substitute(index, {{pixels.var, Expr(0)}, {taps.var, Expr(0)}})));
    if (!pixels.extent.is_constant() || !taps.extent.is_constant() || !dilation || !origin) continue;
    if (step.value_or(0) > 0)
      found.push_back({pixel, static_cast<size_t>(tap), *step, *dilation, *origin, extent.value()});
  }
  return found;
}

Expr reads_data(const TapAxis& a, const Stage& stage, const Expr& first, int64_t count) {
  const Expr tap = Expr(stage.reduction->axes[a.tap].var) * Expr(a.dilation) + Expr(a.origin);
  const Expr low = first * Expr(a.step) + tap, high = low + Expr((count - 1) * a.step);
  return logical_and(high >= Expr(0), low < Expr(a.extent));
}

double share_of_padding(const TapAxis& a, const Stage& stage, int64_t count) {
  const int64_t pixels = stage.axes[static_cast<size_t>(a.pixel)].extent.value(),
                taps = stage.reduction->axes[a.tap].extent.value(), ranges = pixels - count + 1;
  if (ranges <= 0 || taps <= 0) return 0;
  // The number of ranges that begin before the first pixel whose index is at least `index`, for a tap at `offset`.
  auto before = [&](int64_t index, int64_t offset) {
    return std::clamp<int64_t>(-floor_quotient(offset - index, a.step), 0, ranges);
  };
  double outside = 0;
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t offset = tap * a.dilation + a.origin;
    outside += static_cast<double>(before(0, offset + (count - 1) * a.step) + ranges - before(a.extent, offset));
  }
  return outside / (static_cast<double>(ranges) * static_cast<double>(taps));
}

}  // namespace dlcc::tensor
