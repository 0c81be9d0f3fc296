// The transformed, packed weights of Winograd's algorithm, made at compile time.
#include "tensor/schedules/winograd.h"
#include "tensor/schedules/winograd_transforms.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

Constant pack_winograd_weights(const WinogradPlan& plan, const Constant& weights) {
  const Stage& stage = plan.function.stages[0];
  const Matrix& g = winograd_matrices(plan.tile).weights;
  int64_t size = static_cast<int64_t>(g.size());
  int64_t in_channels = plan.in_channels(), out_channels = plan.extent(plan.n_axis);
  // The model's weights have four dimensions in any order: their strides by role.
  int64_t out_stride = 0, channel_stride = 0, y_stride = 0, x_stride = 0, stride = 1;
  for (size_t d = weights.shape().size(); d-- > 0; stride *= weights.shape()[d]) {
    const Expr& index = plan.contraction.weights.indices[d];
    auto is_reduced = [&](int t) { return is_var(index, stage.reduction->axes[static_cast<size_t>(t)].var); };
    (is_reduced(plan.channel_k) ? channel_stride
     : is_reduced(plan.y.tap)   ? y_stride
     : is_reduced(plan.x.tap)   ? x_stride
                                : out_stride) = stride;
  }
  std::span<const float> from = weights.as<float>();
  std::vector<float> to(static_cast<size_t>(out_channels * in_channels * size * size));
  std::vector<double> half(static_cast<size_t>(size) * WinogradPlan::taps);
  for (int64_t out = 0; out < out_channels; ++out)
    for (int64_t channel = 0; channel < in_channels; ++channel) {
      const float* w = &from[static_cast<size_t>(out * out_stride + channel * channel_stride)];
      for (int64_t r = 0; r < size; ++r)
        for (int64_t kx = 0; kx < WinogradPlan::taps; ++kx) {
          double sum = 0;
          for (int64_t ky = 0; ky < WinogradPlan::taps; ++ky) sum += g[r][ky] * w[ky * y_stride + kx * x_stride];
          half[static_cast<size_t>(r * WinogradPlan::taps + kx)] = sum;
        }
      for (int64_t r = 0; r < size; ++r)
        for (int64_t c = 0; c < size; ++c) {
          double sum = 0;
          for (int64_t kx = 0; kx < WinogradPlan::taps; ++kx)
            sum += half[static_cast<size_t>(r * WinogradPlan::taps + kx)] * g[c][kx];
          int64_t panel = out / plan.panel_width, point = r * size + c;
          int64_t at =
              ((panel * size * size + point) * in_channels + channel) * plan.panel_width + out % plan.panel_width;
          to[static_cast<size_t>(at)] = static_cast<float>(sum);
        }
    }
  return Constant::of(dtype::f32, static_shape(plan.weights->shape), to);
}

}  // namespace dlcc::tensor
