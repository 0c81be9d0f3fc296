// What all machines share of a computation in strips: how both parts see what passes between them, and how many rows a
// strip has.
#include <algorithm>

#include "tensor/layout.h"
#include "tensor/schedules/line_buffer.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/winograd.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class Planner {
 public:
  Planner(const Chain& chain, const std::vector<Layout>& layouts, const std::vector<bool>& constant,
          const ScheduleOptions& options, const Machine& machine, const TuningConfig& config)
      : chain_(chain),
        layouts_(layouts),
        constant_(constant),
        options_(options),
        machine_(machine),
        config_(config),
        passed_(chain.first.results[0]) {}

  std::optional<LineBufferPlan> run() {
    plan_.passed = passed_;
    plan_.workers = options_.threads;
    if (!plan_producer() || !plan_consumer() || !relate_dimensions()) return std::nullopt;
    choose_rows();
    make_strip();
    return plan_;
  }

 private:
  bool plan_producer() {
    int channels = channel_axis(chain_.first, constant_, channel_block);
    if (channels < 0) return false;
    passed_layout_ = blocked_layout(static_shape(passed_->shape), channels, channel_block, Layout::Tail::unspecified);
    std::vector<Layout> layouts(layouts_.begin(), layouts_.begin() + static_cast<std::ptrdiff_t>(constant_.size()));
    layouts.push_back(passed_layout_);
    auto producer = plan_contraction(chain_.first, layouts, constant_, options_, machine_, true, config_);
    if (!producer || producer->n_axis != channels || !producer->batch_axes.empty()) return false;
    plan_.producer = std::move(*producer);
    plan_.panels = ceil_div(round_up(plan_.extent(channels), channel_block), plan_.producer.panel);
    return true;
  }

  bool plan_consumer() {
    const TensorFunction& f = chain_.second;
    std::map<Buffer, Layout> layouts = {{passed_, passed_layout_}};
    for (size_t k = 0; k < constant_.size(); ++k) layouts[f.params[k]] = layouts_[k];
    layouts[f.results[0]] = layouts_.back();
    std::vector<bool> constant = constant_;
    constant.push_back(false);
    auto consumer = plan_window_reduction(f, 0, layouts, constant);
    if (!consumer || (f.stages.size() > 1) != consumer->epilogue.has_value()) return false;
    plan_.consumer = std::move(*consumer);
    return true;
  }

  // What part of a strip each dimension of what is passed is for the consumer. Its lanes are in none but the innermost
  // blocks, which are the channels (plan_window_reduction).
  bool relate_dimensions() {
    const Stage& stage = plan_.consumer.reduced;
    std::vector<Load> loads;
    for (const Load& l : loads_of(stage.values[0]))
      if (l.buffer == passed_) loads.push_back(l);
    const std::vector<int>& rows = plan_.producer.m_axes;
    if (loads.size() != 1 || rows.size() < 2 || rows.back() != rows[rows.size() - 2] + 1) return false;
    plan_.row_dim = rows[rows.size() - 2];
    const Var& lane = stage.axes[static_cast<size_t>(plan_.consumer.lane_axis)].var;
    for (int d = 0; d < passed_->rank(); ++d) {
      const Expr& index = loads[0].indices[static_cast<size_t>(d)];
      std::vector<int> axes = axes_in(stage, index);
      if (d == plan_.row_dim) {
        if (axes.size() != 1 || !relate_rows(stage, axes[0], index)) return false;
      } else if (d == plan_.row_dim + 1) {
        columns_read_ = range_of(index, ranges_of(stage));
        if (!columns_read_ || std::ranges::count(axes, plan_.row_axis)) return false;
      } else if (d == plan_.producer.n_axis) {
        if (!is_var(index, lane)) return false;
      } else if (plan_.extent(d) == 1) {
        plan_.fixed.emplace_back(d, -1);
      } else {
        if (axes.size() != 1 || !is_var(index, stage.axes[static_cast<size_t>(axes[0])].var)) return false;
        plan_.fixed.emplace_back(d, axes[0]);
      }
    }
    plan_.outside = loads[0].otherwise;
    bool rows_once = std::ranges::none_of(plan_.fixed, [&](const auto& f) { return f.second == plan_.row_axis; });
    return rows_once && (!plan_.outside || as<Literal>(plan_.outside));
  }

  static std::vector<int> axes_in(const Stage& stage, const Expr& e) {
    std::vector<int> axes;
    for (size_t k = 0; k < stage.axes.size(); ++k)
      if (uses(e, stage.axes[k].var)) axes.push_back(static_cast<int>(k));
    return axes;
  }

  bool relate_rows(const Stage& stage, int axis, const Expr& index) {
    const Var& row = stage.axes[static_cast<size_t>(axis)].var;
    auto step = constant_integer(simplify(substitute(index, {{row, Expr(row) + Expr(1)}}) - index));
    auto window = range_of(simplify(substitute(index, {{row, Expr(0)}})), ranges_of(stage));
    if (!step || *step < 1 || !window) return false;
    plan_.row_axis = axis;
    plan_.step = *step;
    plan_.before = window->low;
    plan_.window = window->high - window->low + 1;
    return true;
  }

  // As many rows as stay in the cache, in strips of equal height if that is possible.
  void choose_rows() {
    int64_t row_bytes = plan_.producer.panel * plan_.width() * bits(passed_->type) / 8, all = plan_.results();
    int64_t rows_read = machine_.l2_budget() / row_bytes;
    int64_t most = std::clamp<int64_t>((rows_read - plan_.window) / plan_.step + 1, 1, all);
    plan_.rows = ceil_div(all, ceil_div(all, most));
    for (int64_t even = most; 2 * even > most; --even)
      if (all % even == 0) {
        plan_.rows = even;
        break;
      }
    plan_.strips = ceil_div(all, plan_.rows);
  }

  void make_strip() {
    // Behind the rows that are read, those that the first strip computes more, since there are none before them.
    int64_t behind = std::max(plan_.rows_read(), plan_.rows_computed() + std::max<int64_t>(-plan_.before, 0));
    std::vector<int64_t> shape = {plan_.workers, plan_.producer.panel, plan_.rows_in_front() + behind, plan_.width()};
    plan_.strip = make_buffer("strip", passed_->type, shape_of(shape), Scope::global, storage_alignment);
    plan_.strip_layout = blocked_layout(shape, 1, channel_block, Layout::Tail::unspecified);
    if (!plan_.outside || !is_literal(plan_.outside, 0)) return;
    std::vector<Range> wanted;
    for (int64_t s : shape) wanted.push_back({0, s - 1});
    wanted.back() = {std::min<int64_t>(columns_read_->low, 0), std::max(columns_read_->high, shape.back() - 1)};
    plan_.strip_layout = with_halo(plan_.strip_layout, shape, wanted);
  }

  const Chain& chain_;
  const std::vector<Layout>& layouts_;
  const std::vector<bool>& constant_;
  const ScheduleOptions& options_;
  const Machine& machine_;
  const TuningConfig& config_;
  Buffer passed_;
  Layout passed_layout_;
  std::optional<Range> columns_read_;  // of the image, round it included
  LineBufferPlan plan_;
};

}  // namespace

std::optional<LineBufferPlan> plan_line_buffer(const TensorFunction& f, const std::vector<Layout>& layouts,
                                               const std::vector<bool>& constant, const ScheduleOptions& options,
                                               const Machine& machine, const TuningConfig& config) {
  auto chain = split_at_window_reduction(f);
  if (!chain) return std::nullopt;
  return Planner(*chain, layouts, constant, options, machine, config).run();
}

bool line_buffer_pays(const TensorFunction& f, const std::vector<bool>& constant, const ScheduleOptions& options,
                      const Machine& machine) {
  auto chain = split_at_window_reduction(f);
  int channels = chain ? channel_axis(chain->first, constant, channel_block) : -1;
  if (channels < 0 || winograd_tile(chain->first, constant, options, machine)) return false;
  const Buffer& passed = chain->first.results[0];
  double bytes = static_cast<double>(product(passed->shape).value()) * bits(passed->type) / 8;
  if (bytes <= static_cast<double>(machine.l2_bytes)) return false;
  std::vector<Layout> layouts(constant.size() + 1);
  int axis = axis_read_at(chain->second.stages[0], passed, channels);
  if (axis < 0) return false;
  layouts.back() = blocked_layout(static_shape(f.results[0]->shape), axis, channel_block, Layout::Tail::unspecified);
  auto plan = Planner(*chain, layouts, constant, options, machine, {}).run();
  if (!plan) return false;
  // A cache that is shared by all cores gives about twice what memory does; the whole would be written and read.
  double saved = bytes * machine.machine_balance;
  double again = static_cast<double>(plan->strips * plan->rows_computed()) / static_cast<double>(plan->height()) - 1;
  return saved > again * 2 * static_cast<double>(multiply_accumulates(chain->first));
}

}  // namespace dlcc::tensor
