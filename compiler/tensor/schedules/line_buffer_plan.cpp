// The decisions of line-buffer fusion that all machines share: the layout of the intermediate image as producer and
// consumer see it, and the number of rows of a band.
#include <algorithm>

#include "support/integers.h"
#include "tensor/index_facts.h"
#include "tensor/layout.h"
#include "tensor/schedules/line_buffer.h"
#include "tensor/schedules/sizes.h"
#include "tensor/schedules/winograd.h"
#include "tensor/simplify.h"
#include "tensor/slices.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class LineBufferPlanner {
 public:
  LineBufferPlanner(const Chain& chain, const std::vector<Layout>& layouts, const std::vector<bool>& constant,
                    const ScheduleOptions& options, const Machine& machine, const TuningConfig& config)
      : chain_(chain),
        layouts_(layouts),
        constant_(constant),
        options_(options),
        machine_(machine),
        config_(config),
        intermediate_(chain.first.results[0]) {}

  std::optional<LineBufferPlan> run() {
    plan_.intermediate = intermediate_;
    plan_.workers = options_.threads;
    if (!plan_producer() || !plan_consumer() || !relate_dimensions()) return std::nullopt;
    choose_rows();
    make_line_buffer();
    return plan_;
  }

 private:
  bool plan_producer() {
    plan_.block = machine_.memory_is_scarce ? 1 : channel_block;
    int channels = channel_axis(chain_.first, constant_, plan_.block);
    if (channels < 0) return false;
    intermediate_layout_ = in_blocks(intermediate_->shape, channels);
    std::vector<Layout> layouts(layouts_.begin(), layouts_.begin() + static_cast<std::ptrdiff_t>(constant_.size()));
    layouts.push_back(intermediate_layout_);
    auto producer = plan_contraction(chain_.first, layouts, constant_, options_, machine_, plan_.block > 1, config_);
    if (!producer || producer->n_axis != channels || !producer->batch_axes.empty()) return false;
    plan_.producer = std::move(*producer);
    plan_.panels = ceil_div(round_up(plan_.extent(channels).value(), plan_.block), plan_.producer.panel_width);
    return true;
  }

  Layout in_blocks(const Shape& shape, int channels) const {
    return plan_.block == 1 ? layout_with_last(shape, channels)
                            : blocked_layout(shape, channels, plan_.block, Layout::Tail::unspecified);
  }

  bool plan_consumer() {
    const TensorFunction& f = chain_.second;
    std::map<Buffer, Layout> layouts = {{intermediate_, intermediate_layout_}};
    for (size_t k = 0; k < constant_.size(); ++k) layouts[f.params[k]] = layouts_[k];
    layouts[f.results[0]] = layouts_.back();
    std::vector<bool> constant = constant_;
    constant.push_back(false);
    auto consumer = plan_window_reduction(f, 0, layouts, constant);
    if (!consumer || (f.stages.size() > 1) != consumer->epilogue.has_value()) return false;
    plan_.consumer = std::move(*consumer);
    if (plan_.block == 1)
      for (auto& [constant, layout] : plan_.consumer.constants)
        layout = layout_with_last(constant->shape, layout.parts.back().axis);
    return true;
  }

  // Relates each dimension of the intermediate image to the consumer's axes. The consumer's lanes are the channels, the
  // innermost blocks of the image's layout (plan_window_reduction).
  bool relate_dimensions() {
    const Stage& stage = plan_.consumer.reduced;
    std::vector<Load> loads;
    for (const Load& l : loads_of(stage.values[0]))
      if (l.buffer == intermediate_) loads.push_back(l);
    const std::vector<int>& m = plan_.producer.m_axes;
    if (loads.size() != 1 || m.size() < 2 || m.back() != m[m.size() - 2] + 1) return false;
    plan_.row_dim = m[m.size() - 2];
    const Var& lane = stage.axes[static_cast<size_t>(plan_.consumer.lane_axis)].var;
    for (int d = 0; d < intermediate_->rank(); ++d) {
      const Expr& index = loads[0].indices[static_cast<size_t>(d)];
      std::vector<int> axes = axes_in(stage, index);
      if (d == plan_.row_dim) {
        if (axes.size() != 1 || !relate_rows(stage, axes[0], index)) return false;
      } else if (d == plan_.row_dim + 1) {
        x_read_ = halo_read(loads[0], static_cast<size_t>(d), stage);
        if (!x_read_ || std::ranges::count(axes, plan_.row_axis)) return false;
      } else if (d == plan_.producer.n_axis) {
        if (!is_var(index, lane)) return false;
      } else if (plan_.extent(d) == Dim(1)) {
        plan_.batch_dims.emplace_back(d, -1);
      } else {
        if (axes.size() != 1 || !is_var(index, stage.axes[static_cast<size_t>(axes[0])].var)) return false;
        plan_.batch_dims.emplace_back(d, axes[0]);
      }
    }
    plan_.padding = loads[0].otherwise;
    bool rows_once = std::ranges::none_of(plan_.batch_dims, [&](const auto& f) { return f.second == plan_.row_axis; });
    return rows_once && (!plan_.padding || as<Literal>(plan_.padding));
  }

  static std::vector<int> axes_in(const Stage& stage, const Expr& e) {
    std::vector<int> axes;
    for (size_t k = 0; k < stage.axes.size(); ++k)
      if (uses(e, stage.axes[k].var)) axes.push_back(static_cast<int>(k));
    return axes;
  }

  bool relate_rows(const Stage& stage, int axis, const Expr& index) {
    const Var& row = stage.axes[static_cast<size_t>(axis)].var;
    auto stride = stride_along(index, row);
    auto window = range_of(simplify(substitute(index, {{row, Expr(0)}})), ranges_of(stage));
    if (!stride || *stride < 1 || !window) return false;
    plan_.row_axis = axis;
    plan_.stride = *stride;
    plan_.first_read = window->low;
    plan_.window_height = window->high - window->low + 1;
    return true;
  }

  // Chooses the rows of a band: the largest number for which the line buffer stays in the cache, or a number of more
  // than half of that which divides the image into bands of equal height.
  void choose_rows() {
    int64_t width = typical_image_size(plan_.width()), all = typical_image_size(plan_.result_rows());
    int64_t row_bytes = plan_.producer.panel_width * width * bits(intermediate_->type) / 8;
    int64_t rows_in_cache = machine_.l2_budget() / row_bytes;
    int64_t most = std::clamp<int64_t>((rows_in_cache - plan_.window_height) / plan_.stride + 1, 1, all);
    plan_.rows = ceil_div(all, ceil_div(all, most));
    for (int64_t even = most; 2 * even > most; --even)
      if (all % even == 0) {
        plan_.rows = even;
        break;
      }
  }

  void make_line_buffer() {
    int64_t rows = plan_.rows_read();
    // The first band of a static image computes more rows below those that it reads, since there are none above the
    // image.
    if (plan_.is_static_image())
      rows = std::max(rows, plan_.rows_computed() + std::max<int64_t>(-plan_.first_read, 0)) + plan_.rows_above();
    const Shape shape = {plan_.workers, plan_.producer.panel_width, rows, plan_.width()};
    plan_.line_buffer = make_buffer("lines", intermediate_->type, shape, Scope::global, storage_alignment);
    plan_.line_buffer_layout = in_blocks(shape, 1);
    if (!plan_.padding || !is_literal(plan_.padding, 0)) return;
    std::vector<Halo> wanted(shape.size());
    wanted.back() = *x_read_;
    plan_.line_buffer_layout = with_halo(plan_.line_buffer_layout, shape, wanted);
  }

  const Chain& chain_;
  const std::vector<Layout>& layouts_;
  const std::vector<bool>& constant_;
  const ScheduleOptions& options_;
  const Machine& machine_;
  const TuningConfig& config_;
  Buffer intermediate_;
  Layout intermediate_layout_;
  std::optional<Halo> x_read_;  // what the consumer reads beyond the row
  LineBufferPlan plan_;
};

}  // namespace

std::optional<LineBufferPlan> plan_line_buffer(const TensorFunction& f, const std::vector<Layout>& layouts,
                                               const std::vector<bool>& constant, const ScheduleOptions& options,
                                               const Machine& machine, const TuningConfig& config) {
  auto chain = split_at_window_reduction(f);
  if (!chain) return std::nullopt;
  return LineBufferPlanner(*chain, layouts, constant, options, machine, config).run();
}

std::optional<int64_t> line_buffer_bytes(const TensorFunction& f, const std::vector<bool>& constant,
                                         const ScheduleOptions& options, const Machine& machine) {
  auto chain = split_at_window_reduction(f);
  const int channels = chain ? channel_axis(chain->first, constant, 1) : -1;
  if (channels < 0 || !is_static(f.results[0]->shape)) return std::nullopt;
  std::vector<Layout> layouts;
  for (size_t k = 0; k < constant.size(); ++k) {
    const Shape& shape = f.params[k]->shape;
    const bool is_image = !constant[k] && shape.size() == chain->first.results[0]->shape.size();
    layouts.push_back(is_image ? layout_with_last(shape, channels) : Layout{});
  }
  const int axis = axis_read_at(chain->second.stages[0], chain->first.results[0], channels);
  if (axis < 0) return std::nullopt;
  layouts.push_back(layout_with_last(f.results[0]->shape, axis));
  const auto plan = LineBufferPlanner(*chain, layouts, constant, options, machine, {}).run();
  if (!plan || plan->producer.data_copy || plan->producer.packs_at_run_time) return std::nullopt;
  const Buffer& lines = plan->line_buffer;
  const Shape stored = physical_shape(plan->line_buffer_layout, lines->shape);
  return product(stored).value() * bits(lines->type) / 8;
}

bool prefers_line_buffer(const TensorFunction& f, const std::vector<bool>& constant, const ScheduleOptions& options,
                         const Machine& machine) {
  if (auto slices = find_slices(f)) return prefers_line_buffer(slices->slice, constant, options, machine);
  auto chain = split_at_window_reduction(f);
  int channels = chain ? channel_axis(chain->first, constant, channel_block) : -1;
  if (channels < 0 || winograd_tile(chain->first, constant, options, machine)) return false;
  auto typical = [](const Dim& d) { return static_cast<double>(typical_image_size(d)); };
  const Buffer& intermediate = chain->first.results[0];
  double bytes = typical(product(intermediate->shape)) * bits(intermediate->type) / 8;
  if (bytes <= static_cast<double>(machine.l2_bytes)) return false;
  std::vector<Layout> layouts(constant.size() + 1);
  int axis = axis_read_at(chain->second.stages[0], intermediate, channels);
  if (axis < 0) return false;
  layouts.back() = blocked_layout(f.results[0]->shape, axis, channel_block, Layout::Tail::unspecified);
  auto plan = LineBufferPlanner(*chain, layouts, constant, options, machine, {}).run();
  if (!plan) return false;
  // Without fusion the image is written once and read once through the last-level cache, at about twice the rate of
  // memory. That costs as much as reading it once from memory.
  double saved = bytes * machine.machine_balance;
  double height = typical(plan->height());
  double rows_computed = std::min(static_cast<double>(plan->rows_read()), height);
  double computed_twice = typical(plan->bands()) * rows_computed / height - 1;
  return saved > computed_twice * 2 * typical(multiply_accumulates(chain->first));
}

}  // namespace dlcc::tensor
