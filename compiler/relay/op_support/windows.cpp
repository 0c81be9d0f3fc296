// Windows of convolutions and poolings: their attributes, number, reach and taps.
#include "relay/op_support/windows.h"

namespace dlcc::relay {

Expr Window::position(Expr window, Expr tap) const {
  return window * Expr(stride) + tap * Expr(dilation) - Expr(before);
}

Checked<std::vector<Window>> make_windows(const std::vector<int64_t>& size, const std::vector<int64_t>& strides,
                                          const std::vector<int64_t>& dilation, const std::vector<int64_t>& padding) {
  size_t rank = size.size();
  auto check_length = [&](const char* attribute, const std::vector<int64_t>& values) -> Failure {
    if (values.size() == rank || values.size() == 1) return std::nullopt;
    return attribute_error(
        fmt::format("{} must have {} numbers, one per spatial axis, found {}", attribute, rank, values.size()));
  };
  if (auto e = first_of({check_length("strides", strides), check_length("dilation", dilation),
                         check_positive("the window size", size), check_positive("strides", strides),
                         check_positive("dilation", dilation)}))
    return *e;
  if (padding.size() != 1 && padding.size() != rank && padding.size() != 2 * rank)
    return attribute_error(
        fmt::format("padding must have 1, {} or {} numbers, found {}", rank, 2 * rank, padding.size()),
        "one for all sides, one per spatial axis, or one per axis before and then one per axis after");
  for (int64_t p : padding)
    if (p < 0)
      return attribute_error(fmt::format("padding must not be negative, found {}", p), "crop with strided_slice");
  auto pick = [](const std::vector<int64_t>& values, size_t k) { return values[values.size() == 1 ? 0 : k]; };
  std::vector<Window> windows;
  for (size_t k = 0; k < rank; ++k) {
    int64_t before = pick(padding, k), after = padding.size() == 2 * rank ? padding[rank + k] : before;
    Window w{size[k], pick(strides, k), pick(dilation, k), before, after};
    int64_t reach;
    constexpr int64_t limit = tensor::max_elements;  // keeps all window arithmetic far from overflow
    if (__builtin_mul_overflow(w.size, w.dilation, &reach) || reach > limit || w.stride > limit || before > limit ||
        after > limit)
      return TypeError{DiagnosticId::too_large, fmt::format("window {} of spatial axis {} is too large", w.size, k),
                       ""};
    windows.push_back(w);
  }
  return windows;
}

Checked<Dim> window_count(const Dim& extent, const Window& w, bool ceil, int axis) {
  const Dim room = extent + Dim(w.before + w.after - w.dilated_size());
  const Dim last_begin = floor_div(extent + Dim(w.before - 1), Dim(w.stride));
  const Dim count = ceil ? min(floor_div(room + Dim(w.stride - 1), Dim(w.stride)), last_begin) + Dim(1)
                         : floor_div(room, Dim(w.stride)) + Dim(1);
  // A pass may bound a data-dependent size so that it has no window. That is decided in the run, by a status.
  if (!provably_lt(count, 1) || is_data_dependent(extent)) return count;
  return out_of_range_error(
      fmt::format("the window reaches over {} elements of spatial axis {}, but the padded data has only {}",
                  w.dilated_size(), axis, (extent + Dim(w.before + w.after)).str()));
}

bool always_inside(const Dim& extent, const Dim& count, const Window& w, bool ceil) {
  if (w.before != 0) return false;
  return (w.after == 0 && !ceil) || provably_le((count - Dim(1)) * Dim(w.stride) + Dim(w.dilated_size()), extent);
}

TapRange taps_between(const Window& w, Expr window, Expr low, Expr high) {
  Expr start = w.position(window, Expr(0)), dilation(w.dilation);
  return {max(Expr(0), Expr(0) - floor_div(start - low, dilation)),
          min(Expr(w.size - 1), floor_div(high - Expr(1) - start, dilation))};
}

Expr counted_taps(const std::vector<Window>& windows, const Shape& data, bool count_padding,
                  const std::vector<Expr>& index) {
  Expr count(1);
  for (size_t k = 0; k < windows.size(); ++k) {
    const Window& w = windows[k];
    const Expr low(count_padding ? -w.before : 0), high = Expr(data[k + 2]) + Expr(count_padding ? w.after : 0);
    const TapRange range = taps_between(w, index[k + 2], low, high);
    count = count * max(range.last - range.first + Expr(1), Expr(1));
  }
  return count;
}

}  // namespace dlcc::relay
