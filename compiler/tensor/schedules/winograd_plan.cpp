// Decides which convolutions use Winograd's algorithm, and chooses the tile size and the shapes of the scratch buffers.
#include <algorithm>

#include "support/integers.h"
#include "tensor/layout.h"
#include "tensor/schedules/sizes.h"
#include "tensor/schedules/winograd.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Fills in the axes of a plan; `run` is false when the function is no 3x3 convolution with stride 1.
class Recognizer {
 public:
  Recognizer(const TensorFunction& f, const std::vector<bool>& constant, WinogradPlan& plan)
      : f_(f), constant_(constant), plan_(plan) {}

  bool run() {
    auto contraction = find_contraction(f_, constant_);
    if (!contraction || f_.stages[0].reduction->axes.size() != 3) return false;
    plan_.function = f_;
    plan_.contraction = *contraction;
    for (const Axis& a : f_.stages[0].reduction->axes)
      if (!a.extent.is_constant()) return false;
    const Load &data = contraction->data, &weights = contraction->weights;
    const Binary* product = as<Binary>(stage().values[0]);
    if (!as<Load>(product->a) || !as<Load>(product->b) || data.buffer->type != dtype::f32 ||
        weights.buffer->type != dtype::f32 || f_.results[0]->type != dtype::f32)
      return false;
    auto param = std::ranges::find(f_.params, weights.buffer);
    if (param == f_.params.end() || !constant_[static_cast<size_t>(param - f_.params.begin())]) return false;
    if (data.otherwise && !is_literal(data.otherwise, 0)) return false;
    return match_weights(weights) && match_data(data) && match_axes() && is_static(weights.buffer->shape);
  }

 private:
  const Stage& stage() const { return f_.stages[0]; }

  static int find(const std::vector<Axis>& axes, const Expr& e) {
    for (size_t k = 0; k < axes.size(); ++k)
      if (is_var(e, axes[k].var)) return static_cast<int>(k);
    return -1;
  }

  // One dimension is the output channel, the others are the reduced axes.
  bool match_weights(const Load& weights) {
    if (weights.otherwise || weights.indices.size() != 4) return false;
    for (const Expr& i : weights.indices) {
      if (int axis = find(stage().axes, i); axis >= 0) {
        if (plan_.n_axis >= 0) return false;
        plan_.n_axis = axis;
      } else if (find(stage().reduction->axes, i) < 0) {
        return false;
      }
    }
    return plan_.n_axis >= 0;
  }

  bool match_data(const Load& data) {
    for (size_t d = 0; d < data.indices.size(); ++d) {
      const Expr& i = data.indices[d];
      int dim = static_cast<int>(d);
      if (int k = find(stage().reduction->axes, i); k >= 0) {
        if (plan_.channel_k >= 0) return false;
        plan_.channel_k = k, plan_.channel_dim = dim;
      } else if (int axis = find(stage().axes, i); axis >= 0) {
        plan_.batch_axes.push_back(axis);
      } else if (auto window = window_at(i, dim); window && plan_.x.dim < 0) {
        (plan_.y.dim < 0 ? plan_.y : plan_.x) = *window;
      } else {
        return false;
      }
    }
    return plan_.channel_k >= 0 && plan_.x.dim >= 0;
  }

  // axis + tap + constant
  std::optional<WindowAxis> window_at(const Expr& index, int dim) const {
    for (size_t a = 0; a < stage().axes.size(); ++a)
      for (size_t t = 0; t < stage().reduction->axes.size(); ++t) {
        const Axis& tap = stage().reduction->axes[t];
        auto begin = constant_integer(simplify(index - Expr(stage().axes[a].var) - Expr(tap.var)));
        if (begin && tap.extent == Dim(WinogradPlan::taps))
          return WindowAxis{static_cast<int>(a), static_cast<int>(t), dim, *begin};
      }
    return std::nullopt;
  }

  // Every axis of the stage has one role.
  bool match_axes() const {
    std::vector<int> roles = plan_.batch_axes;
    roles.insert(roles.end(), {plan_.n_axis, plan_.y.axis, plan_.x.axis});
    std::ranges::sort(roles);
    for (size_t k = 0; k < roles.size(); ++k)
      if (roles[k] != static_cast<int>(k)) return false;
    return roles.size() == stage().axes.size() && plan_.y.tap != plan_.x.tap;
  }

  const TensorFunction& f_;
  const std::vector<bool>& constant_;
  WinogradPlan& plan_;
};

// Estimated time, in float32 operations: the products, or the transfer of the weights from memory if that takes longer,
// and the transformations. Tile size 1 is the direct convolution.
double estimated_time(const WinogradPlan& p, int64_t tile, const Machine& machine) {
  auto along = [&](const WindowAxis& w) {
    return static_cast<double>(ceil_div(typical_image_size(p.size(w.axis)), tile));
  };
  double points = static_cast<double>((tile + WinogradPlan::taps - 1) * (tile + WinogradPlan::taps - 1)),
         tiles = along(p.y) * along(p.x);
  double in = static_cast<double>(p.in_channels()), out = static_cast<double>(p.extent(p.n_axis));
  double weights = in * out * (tile > 1 ? points : WinogradPlan::taps * WinogradPlan::taps);
  double products = 2 * tiles * weights, streamed = 4 * weights * machine.machine_balance;
  double transformations = tile > 1 ? tiles * points * (in + out) * machine.winograd_transform_cost : 0;
  return std::max(products, streamed) + transformations;
}

// Chooses the tile size. Larger tiles save more multiplications, but compute more outputs outside the image and read
// more weights. With few channels the transformations cost more than the saved products.
int64_t choose_tile(const WinogradPlan& p, const ScheduleOptions& options, const Machine& machine,
                    std::optional<int64_t> configured = {}) {
  if (options.small || p.in_channels() % channel_block || p.extent(p.n_axis) % channel_block) return 0;
  auto admitted = [&](int64_t tile) { return tile <= 2 || !options.strict; };
  if (configured && admitted(*configured)) return *configured > 1 ? *configured : 0;
  int64_t best = 1;
  for (int64_t tile : {2, 4})
    if (admitted(tile) && estimated_time(p, tile, machine) < estimated_time(p, best, machine)) best = tile;
  return best > 1 ? best : 0;
}

}  // namespace

int64_t winograd_tile(const TensorFunction& f, const std::vector<bool>& constant, const ScheduleOptions& options,
                      const Machine& machine) {
  WinogradPlan plan;
  return Recognizer(f, constant, plan).run() ? choose_tile(plan, options, machine) : 0;
}

std::vector<Halo> winograd_halo(const TensorFunction& f, const std::vector<bool>& constant, int64_t tile) {
  WinogradPlan plan;
  if (!Recognizer(f, constant, plan).run()) return {};
  plan.tile = tile;
  const Shape& shape = plan.contraction.data.buffer->shape;
  std::vector<Halo> read(shape.size());
  for (const WindowAxis& w : {plan.y, plan.x}) {
    const Dim end = Dim(w.begin) + plan.tiles_along(w) * Dim(tile) + Dim(WinogradPlan::taps - 1);
    const auto after = (end - shape[static_cast<size_t>(w.dim)]).upper_bound();
    if (!after) return {};
    read[static_cast<size_t>(w.dim)] = {-w.begin, *after};
  }
  return read;
}

std::optional<WinogradPlan> plan_winograd(const TensorFunction& f, const std::vector<Layout>& layouts,
                                          const std::vector<bool>& constant, const ScheduleOptions& options,
                                          const Machine& machine, const TuningConfig& config) {
  WinogradPlan plan;
  if (!Recognizer(f, constant, plan).run()) return std::nullopt;
  plan.tile = choose_tile(plan, options, machine, config.winograd_tile_size);
  if (plan.tile == 0) return std::nullopt;

  const Buffer& data = plan.contraction.data.buffer;
  const Layout& stored = layouts[static_cast<size_t>(std::ranges::find(f.params, data) - f.params.begin())];
  const Layout& result = layouts[f.params.size()];
  auto in_blocks = [](const Layout& l, int axis) {
    return !l.is_dense() && l.parts.back().axis == axis && l.parts.back().extent.value() % channel_block == 0;
  };
  if (!in_blocks(stored, plan.channel_dim) || !in_blocks(result, plan.n_axis)) return std::nullopt;
  const std::vector<Halo> read = winograd_halo(f, constant, plan.tile);
  if (read.empty()) return std::nullopt;
  for (size_t d = 0; d < read.size(); ++d)
    if (!is_stored(stored, static_cast<int>(d), data->shape[d], read[d])) return std::nullopt;

  int64_t channels = plan.in_channels(), out_channels = plan.extent(plan.n_axis);
  int64_t size = plan.tile + WinogradPlan::taps - 1, points = size * size;
  const Dim all_tiles = plan.tiles_along(plan.y) * plan.tiles_along(plan.x);
  int64_t tiles = typical_image_size(all_tiles);
  plan.panel_width = out_channels % machine.panel_widths[0] == 0 ? machine.panel_widths[0] : channel_block;
  if (config.panel_width && out_channels % *config.panel_width == 0) plan.panel_width = *config.panel_width;
  // A thread with tiles of its own transforms them into its own cache but reads all weights. That is faster if the
  // weights stay in the cache or are used for several tiles.
  bool weights_stay = points * channels * out_channels * 4 <= machine.l2_bytes;
  if (tiles >= options.threads * (weights_stay ? 1 : machine.min_winograd_tiles_per_thread))
    plan.workers = options.threads;
  else if (out_channels / plan.panel_width % options.threads == 0)
    plan.panel_shares = options.threads;
  int64_t most = std::max<int64_t>(machine.winograd_block_bytes / (points * (channels + plan.panel_width) * 4), 1);
  // Blocks as equal as possible.
  plan.tiles_per_block = ceil_div(tiles, round_up(ceil_div(tiles, most), plan.workers));
  // A small image has fewer tiles than a block of a typical one.
  const Dim stored_tiles = min(Dim(plan.tiles_per_block), all_tiles);
  auto scratch = [](const char* name, Shape shape) {
    return make_buffer(name, dtype::f32, std::move(shape), Scope::global, storage_alignment);
  };
  plan.weights = scratch("weights", {out_channels / plan.panel_width, points, channels, plan.panel_width});
  // In a whole block, an odd number of cache lines between rows spreads the rows over the sets of the cache.
  const Dim odd_tiles = stored_tiles + Dim(1 - plan.tiles_per_block % 2);
  plan.transformed = scratch("transformed", {plan.workers, channels / channel_block, points, odd_tiles, channel_block});
  plan.products = scratch(
      "products", {std::max(plan.workers, plan.panel_shares), stored_tiles, points * plan.panel_width + channel_block});
  return plan;
}

}  // namespace dlcc::tensor
