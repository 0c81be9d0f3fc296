#include "tensor/schedules/strips.h"

#include <algorithm>

#include "tensor/layout.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/winograd.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

int64_t extent_of(const Buffer& b, int dim) { return b->shape[static_cast<size_t>(dim)].value(); }

// ---- planning

class Planner {
 public:
  Planner(const Chain& chain, const std::vector<Layout>& layouts, const std::vector<bool>& constant,
          const ScheduleOptions& options, const Machine& machine, const Choice& choice)
      : chain_(chain),
        layouts_(layouts),
        constant_(constant),
        options_(options),
        machine_(machine),
        choice_(choice),
        passed_(chain.first.results[0]) {}

  std::optional<StripPlan> run() {
    plan_.passed = passed_;
    plan_.workers = options_.threads;
    if (!plan_producer() || !plan_consumer() || !relate_dimensions()) return std::nullopt;
    choose_rows();
    make_strip();
    return plan_;
  }

 private:
  bool plan_producer() {
    int channels = channel_axis(chain_.first, constant_, column_block);
    if (channels < 0) return false;
    passed_layout_ = blocked_layout(static_shape(passed_->shape), channels, column_block, Layout::Tail::unspecified);
    std::vector<Layout> layouts(layouts_.begin(), layouts_.begin() + static_cast<std::ptrdiff_t>(constant_.size()));
    layouts.push_back(passed_layout_);
    auto producer = plan_contraction(chain_.first, layouts, constant_, choice_);
    if (!producer || producer->column_axis != channels || !producer->blocked_result || !producer->outer_axes.empty())
      return false;
    plan_.producer = std::move(*producer);
    plan_.panels = ceil_div(round_up(extent_of(passed_, channels), column_block), plan_.producer.panel);
    return true;
  }

  bool plan_consumer() {
    const TensorFunction& f = chain_.second;
    std::map<Buffer, Layout> layouts = {{passed_, passed_layout_}};
    for (size_t k = 0; k < constant_.size(); ++k) layouts[f.params[k]] = layouts_[k];
    layouts[f.results[0]] = layouts_.back();
    std::vector<bool> constant = constant_;
    constant.push_back(false);
    auto consumer = plan_window(f, 0, layouts, constant);
    if (!consumer || (f.stages.size() > 1) != consumer->epilogue.has_value()) return false;
    plan_.consumer = std::move(*consumer);
    return true;
  }

  // What part of a strip each dimension of what is passed is for the consumer.
  bool relate_dimensions() {
    const Stage& stage = plan_.consumer.reduced;
    std::vector<Load> loads;
    for (const Load& l : loads_of(stage.values[0]))
      if (l.buffer == passed_) loads.push_back(l);
    const std::vector<int>& rows = plan_.producer.row_axes;
    if (loads.size() != 1 || rows.size() < 2 || rows.back() != rows[rows.size() - 2] + 1) return false;
    plan_.row_dim = rows[rows.size() - 2];
    const Var& lane = stage.axes[static_cast<size_t>(plan_.consumer.lane_axis)].var;
    for (int d = 0; d < passed_->rank(); ++d) {
      const Expr& index = loads[0].indices[static_cast<size_t>(d)];
      std::vector<int> axes = axes_in(stage, index);
      if (d == plan_.row_dim) {
        if (axes.size() != 1 || uses(index, lane) || !relate_rows(stage, axes[0], index)) return false;
      } else if (d == plan_.row_dim + 1) {
        columns_read_ = range_of(index, ranges_of(stage));
        if (!columns_read_ || uses(index, lane) || std::ranges::count(axes, plan_.row_axis)) return false;
      } else if (d == plan_.producer.column_axis) {
        if (!is_var(index, lane)) return false;
      } else if (extent_of(passed_, d) == 1) {
        plan_.fixed.emplace_back(d, -1);
      } else {
        if (axes.size() != 1 || !is_var(index, stage.axes[static_cast<size_t>(axes[0])].var)) return false;
        plan_.fixed.emplace_back(d, axes[0]);
      }
    }
    zeros_round_ = loads[0].otherwise && is_literal(loads[0].otherwise, 0);
    return true;
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
    window_ = window->high - window->low + 1;
    return true;
  }

  int64_t rows_read_by(int64_t rows) const { return (rows - 1) * plan_.step + window_; }

  // As many rows as stay in the cache, in strips of equal height if that is possible.
  void choose_rows() {
    int64_t all = plan_.consumer.reduced.axes[static_cast<size_t>(plan_.row_axis)].extent.value();
    int64_t row_bytes = plan_.producer.panel * extent_of(passed_, plan_.row_dim + 1) * bits(passed_->type) / 8;
    int64_t most = 1;
    while (most < all && rows_read_by(most + 1) * row_bytes <= machine_.resident_bytes()) ++most;
    plan_.rows = ceil_div(all, ceil_div(all, most));
    for (int64_t even = most; 2 * even > most; --even)
      if (all % even == 0) {
        plan_.rows = even;
        break;
      }
    plan_.strips = ceil_div(all, plan_.rows);
    plan_.rows_read = std::min(rows_read_by(plan_.rows), extent_of(passed_, plan_.row_dim));
  }

  void make_strip() {
    std::vector<int64_t> shape = {plan_.workers, plan_.producer.panel, plan_.rows_read,
                                  extent_of(passed_, plan_.row_dim + 1)};
    plan_.strip = make_buffer("strip", passed_->type, shape_of(shape), Scope::global, 64);
    plan_.strip_layout = blocked_layout(shape, 1, column_block, Layout::Tail::unspecified);
    if (!zeros_round_) return;
    std::vector<Range> wanted;
    for (int64_t s : shape) wanted.push_back({0, s - 1});
    wanted.back() = {std::min<int64_t>(columns_read_->low, 0), std::max(columns_read_->high, shape.back() - 1)};
    plan_.strip_layout = with_border(plan_.strip_layout, shape, wanted);
  }

  const Chain& chain_;
  const std::vector<Layout>& layouts_;
  const std::vector<bool>& constant_;
  const ScheduleOptions& options_;
  const Machine& machine_;
  const Choice& choice_;
  Buffer passed_;
  Layout passed_layout_;
  std::optional<Range> columns_read_;  // of the image, round it included
  bool zeros_round_ = false;           // the consumer reads zeros outside of the image
  int64_t window_ = 1;                 // rows that one row of results reads, and those in between
  StripPlan plan_;
};

// ---- scheduling

class Scheduler {
 public:
  Scheduler(const StripPlan& plan, const std::map<Buffer, Layout>& layouts, const Machine& machine,
            const Choice& choice)
      : plan_(plan), layouts_(layouts), machine_(machine), choice_(choice) {}

  Stmt run() {
    Stmt body = workers();
    for (int axis : fixed_axes())
      body = for_loop(consumer_axis(axis).var, consumer_axis(axis).extent.value(), LoopKind::serial, body);
    return sequence({zero_border(plan_.strip, plan_.strip_layout), schedule_copies(plan_.producer, machine_), body});
  }

 private:
  const Axis& consumer_axis(int k) const { return plan_.consumer.reduced.axes[static_cast<size_t>(k)]; }
  std::vector<int> fixed_axes() const {
    std::vector<int> axes;
    for (auto [dim, axis] : plan_.fixed)
      if (axis >= 0) axes.push_back(axis);
    return axes;
  }
  int64_t columns() const { return extent_of(plan_.passed, plan_.producer.column_axis); }

  // Every worker has a share of the items, and a strip of its own. Strips are outermost: all panels read the same rows.
  Stmt workers() {
    int64_t items = plan_.strips * plan_.panels, share = ceil_div(items, plan_.workers);
    Var next = make_var("next"), item = make_var("item"), strip = make_var("strip"), panel = make_var("panel");
    Stmt body = let(panel, floor_mod(Expr(item), Expr(plan_.panels)), one_strip(strip, panel));
    body = let(strip, floor_div(Expr(item), Expr(plan_.panels)), body);
    if (items % plan_.workers) body = if_then(Expr(item) < Expr(items), body);
    body = let(item, Expr(worker_) * Expr(share) + Expr(next), body);
    return for_loop(worker_, plan_.workers, LoopKind::parallel, for_loop(next, share, LoopKind::serial, body));
  }

  // The rows that are computed for a strip lie inside of the image: at its edges they are more than are read. So the
  // consumer finds outside of the strip what it would find outside of the image.
  Stmt one_strip(const Var& strip, const Var& panel) {
    Var top = make_var("top");
    Expr first = Expr(strip) * Expr(plan_.rows), above = first * Expr(plan_.step) + Expr(plan_.before);
    int64_t last = extent_of(plan_.passed, plan_.row_dim) - plan_.rows_read;
    int64_t width = plan_.producer.panel, whole = columns() / width;
    Stmt rest = columns() % width == 0 ? nullptr : one_panel({Expr(whole * width), columns() % width, first, top});
    Stmt body = whole == 0 ? nullptr : one_panel({Expr(panel) * Expr(width), width, first, top});
    if (body && rest)
      body = if_then(Expr(panel) < Expr(whole), body, rest);
    else if (rest)
      body = rest;
    return let(top, min(max(above, Expr(0)), Expr(last)), body);
  }

  struct Item {
    Expr column;      // first of the panel
    int64_t columns;  // that exist
    Expr row;         // first of the results
    Expr top;         // first row of the strip
  };

  Stmt one_panel(const Item& at) {
    ContractionArea produced{at.column, round_up(at.columns, column_block), at.top, plan_.rows_read};
    WindowArea consumed{at.column, at.columns, plan_.row_axis, at.row, plan_.rows, fixed_axes()};
    auto in_strip = [&](const Expr& e) {
      const Load* l = as<Load>(e);
      if (!l || l->buffer != plan_.passed) return e;
      return load(plan_.strip, strip_index(at, l->indices), l->otherwise);
    };
    Stmt producer = rewrite(schedule_area(plan_.producer, produced, machine_, choice_), in_strip, [&](const Stmt& s) {
      const Store* x = as<Store>(s);
      return x && x->buffer == plan_.passed ? store(plan_.strip, strip_index(at, x->indices), x->value) : s;
    });
    Substitution fixed;
    for (auto [dim, axis] : plan_.fixed)
      fixed[producer_axis(dim).var] = axis < 0 ? Expr(0) : Expr(consumer_axis(axis).var);
    WindowPlan consumer = plan_.consumer;
    // Where the whole image would be read inside, a row that is none of the strip's is never asked for; the test of the
    // row is what tells so.
    Expr nothing = literal(plan_.passed->type, int64_t{0});
    consumer.reduced.values[0] = rewrite(consumer.reduced.values[0], [&](const Expr& e) {
      Expr here = in_strip(e);
      const Load* l = as<Load>(here);
      return l && l->buffer == plan_.strip && !l->otherwise ? load(l->buffer, l->indices, nothing) : here;
    });
    return sequence({substitute(producer, fixed), schedule_area(consumer, consumed, layouts_, machine_)});
  }

  const Axis& producer_axis(int k) const { return plan_.producer.function.stages[0].axes[static_cast<size_t>(k)]; }

  std::vector<Expr> strip_index(const Item& at, const std::vector<Expr>& index) const {
    auto dim = [&](int d) { return index[static_cast<size_t>(d)]; };
    return {worker_, dim(plan_.producer.column_axis) - at.column, dim(plan_.row_dim) - at.top, dim(plan_.row_dim + 1)};
  }

  const StripPlan& plan_;
  const std::map<Buffer, Layout>& layouts_;
  const Machine& machine_;
  const Choice& choice_;
  Var worker_ = make_var("worker");
};

}  // namespace

std::optional<StripPlan> plan_strips(const TensorFunction& f, const std::vector<Layout>& layouts,
                                     const std::vector<bool>& constant, const ScheduleOptions& options,
                                     const Machine& machine, const Choice& choice) {
  auto chain = split_at_window(f);
  if (!chain) return std::nullopt;
  return Planner(*chain, layouts, constant, options, machine, choice).run();
}

bool strips_pay(const TensorFunction& f, const std::vector<bool>& constant, const ScheduleOptions& options,
                const Machine& machine) {
  auto chain = split_at_window(f);
  int channels = chain ? channel_axis(chain->first, constant, column_block) : -1;
  if (channels < 0 || winograd_tile(chain->first, constant, options, machine)) return false;
  const Buffer& passed = chain->first.results[0];
  double bytes = static_cast<double>(product(passed->shape).value()) * bits(passed->type) / 8;
  if (bytes <= static_cast<double>(machine.l2_bytes)) return false;
  std::vector<Layout> layouts(constant.size() + 1);
  int axis = axis_read_at(chain->second.stages[0], passed, channels);
  if (axis < 0) return false;
  layouts.back() = blocked_layout(static_shape(f.results[0]->shape), axis, column_block, Layout::Tail::unspecified);
  auto plan = Planner(*chain, layouts, constant, options, machine, {}).run();
  if (!plan) return false;
  // A cache that is shared by all cores gives about twice what memory does; the whole would be written and read.
  double saved = bytes * machine.flops_per_streamed_byte, rows = static_cast<double>(extent_of(passed, plan->row_dim));
  double again = static_cast<double>(plan->strips * plan->rows_read) / rows - 1;
  return saved > again * 2 * static_cast<double>(multiply_accumulates(chain->first));
}

Stmt schedule_strips(const StripPlan& plan, const std::map<Buffer, Layout>& layouts, const Machine& machine,
                     const Choice& choice) {
  return Scheduler(plan, layouts, machine, choice).run();
}

}  // namespace dlcc::tensor
