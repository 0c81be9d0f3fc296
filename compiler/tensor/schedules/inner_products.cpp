#include "tensor/schedules/inner_products.h"

#include <optional>

#include "tensor/byte_products.h"
#include "tensor/layout.h"
#include "tensor/schedules/tap_axes.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Fewer pixels or N indices would not read each word often enough to pay for widening it. Estimates: widening takes 18
// instructions for four K indices of a tile's weights, and a tile saves 13; data has the same proportions.
constexpr int64_t min_pixels = 16, min_n = 32;
// Inner products do not leave out taps that read padding only. An estimate of the share of such taps from which on dot
// products are faster. It is 18 % for 3x3 taps on 7x7 pixels, where inner products take 1.42 ms in place of 1.51 for
// 512 channels (Zen 4, AVX2).
constexpr double max_share_of_padding = 0.25;

// The layout with groups of sixteen neighbours of the last dimension as even and odd elements; empty if they do not
// fill whole groups.
std::optional<Layout> in_words(Layout layout, const Shape& shape) {
  layout = explicit_layout(std::move(layout), shape);
  const Layout::Part last = layout.parts.back();
  if (last.divisor != 1 || last.halo != 0 || !last.extent.is_constant() || last.extent.value() % widened_bytes != 0)
    return std::nullopt;
  layout.parts.pop_back();
  if (const int64_t groups = last.extent.value() / widened_bytes; groups > 1)
    layout.parts.push_back({last.axis, widened_bytes, Dim(groups)});
  layout.parts.push_back({last.axis, 1, Dim(2)});
  layout.parts.push_back({last.axis, 2, Dim(widened_half)});
  return layout;
}

}  // namespace

void plan_inner_products(ContractionPlan& plan, const Layout& of_data) {
  const Stage& stage = plan.function.stages[0];
  const Load& data = plan.contraction.data;
  const auto& reduced = stage.reduction->axes;
  const Axis& n = stage.axes[static_cast<size_t>(plan.n_axis)];
  if (!plan.byte_products || !plan.panels || plan.rows_dim >= 0 || data.buffer->type != dtype::u8) return;
  if (uses(data, n.var) || n.extent.value() < min_n) return;
  Shape pixels;
  Dim count = 1;
  for (int a : plan.batch_axes) pixels.push_back(stage.axes[static_cast<size_t>(a)].extent);
  for (int a : plan.m_axes) {
    pixels.push_back(stage.axes[static_cast<size_t>(a)].extent);
    count = count * pixels.back();
  }
  if (!count.is_constant() || count.value() < min_pixels) return;

  const Axis& k = plan.blocked_k >= 0 ? reduced[static_cast<size_t>(plan.blocked_k)] : reduced.back();
  const int64_t group = plan.blocked_k >= 0 ? plan.k_block : widened_bytes;
  const Buffer& read = plan.data_copy ? plan.data_copy : data.buffer;
  const std::optional<Layout> layout = in_words(plan.data_copy ? plan.data_layout : of_data, read->shape);
  if (!layout || group % widened_bytes != 0 || k.extent.value() % group != 0) return;
  const Expr begin = data.indices[static_cast<size_t>(layout->parts.back().axis)] - Expr(k.var);
  if (constant_integer(simplify(floor_mod(begin, Expr(widened_bytes)))) != 0) return;
  double share = 1;
  for (const TapAxis& a : tap_axes(data, stage)) share *= 1 - share_of_padding(a, stage, 1);
  if (share < 1 - max_share_of_padding) return;

  plan.data_words = make_buffer("data_words", dtype::u16, read->shape, Scope::global, storage_alignment);
  plan.row_products = make_buffer("row_products", dtype::i32, pixels, Scope::global, storage_alignment);
  plan.words_layout = *layout;
  if (plan.data_strides.empty()) plan.data_strides.assign(read->shape.size(), 1);
}

}  // namespace dlcc::tensor
