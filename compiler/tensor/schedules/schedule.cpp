#include "tensor/schedules/schedule.h"

#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/layout.h"
#include "tensor/passes/apply_layouts.h"
#include "tensor/passes/merge_axes.h"
#include "tensor/schedules/contraction.h"
#include "tensor/schedules/generic.h"
#include "tensor/schedules/line_buffer.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/window_reduction.h"
#include "tensor/schedules/winograd.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

int index_of(const std::vector<Buffer>& list, const Buffer& b) {
  auto it = std::ranges::find(list, b);
  return it == list.end() ? -1 : static_cast<int>(it - list.begin());
}

// The one axis of the stage that the parameter is read along, as its only index: a bias.
bool read_along(const Stage& stage, const Buffer& b, int axis) {
  bool found = false;
  for (const Expr& v : stage.values)
    for (const Load& l : loads_of(v)) {
      if (l.buffer != b) continue;
      const VarRef* ref = l.indices.size() == 1 ? as<VarRef>(l.indices[0]) : nullptr;
      if (!ref || ref->var != stage.axes[static_cast<size_t>(axis)].var) return false;
      found = true;
    }
  return found;
}

// Constant vectors along the blocked axis of the result are padded like it, so that whole blocks can be loaded.
void pad_constant_vectors(const ScheduleRequest& r, std::vector<Layout>& layouts) {
  const Stage& last = r.function.stages.back();
  auto result = index_of(r.function.results, last.results[0]);
  if (result < 0) return;
  const Layout& layout = layouts[r.function.params.size() + static_cast<size_t>(result)];
  if (layout.is_dense()) return;
  int axis = layout.parts.back().axis;
  int64_t block = layout.parts.back().extent;
  for (size_t k = 0; k < r.function.params.size(); ++k) {
    const Buffer& b = r.function.params[k];
    if (r.constant[k] && b->rank() == 1 && bits(b->type) >= 8 && read_along(last, b, axis))
      layouts[k] = blocked_layout(static_shape(b->shape), 0, block, Layout::Tail::zero);
  }
}

// A result may replace an operand that is read only where, and not after, the same element is written.
std::vector<std::pair<int, int>> in_place_pairs(const ScheduleRequest& r, const std::vector<Layout>& layouts) {
  std::vector<std::pair<int, int>> pairs;
  const TensorFunction& f = r.function;
  const Stage& last = f.stages.back();
  int result = index_of(f.results, last.results[0]);
  if (result < 0 || last.results.size() != 1 || f.results.size() != 1 || last.reduction || !last.origin.empty())
    return pairs;
  for (size_t k = 0; k < f.params.size(); ++k) {
    const Buffer& b = f.params[k];
    bool same = !r.constant[k] && b->type == last.results[0]->type && b->shape == last.results[0]->shape &&
                layouts[k] == layouts[f.params.size() + static_cast<size_t>(result)];
    bool elsewhere = false;
    for (size_t s = 0; s + 1 < f.stages.size(); ++s)
      for (const Expr& v : f.stages[s].values)
        for (const Load& l : loads_of(v)) elsewhere |= l.buffer == b;
    if (same && !elsewhere && reads_at_own_index(last, b.get())) pairs.emplace_back(result, static_cast<int>(k));
  }
  return pairs;
}

// The windows of a function by their first stage. Constants are stored as they want them.
std::map<size_t, WindowReductionPlan> plan_window_reductions(const TensorFunction& f, std::map<Buffer, Layout>& layouts,
                                                             const std::vector<bool>& constant) {
  std::map<size_t, WindowReductionPlan> windows;
  for (size_t k = 0; k < f.stages.size(); ++k) {
    auto window = plan_window_reduction(f, k, layouts, constant);
    if (!window) continue;
    for (const auto& [buffer, layout] : window->constants) layouts[buffer] = layout;
    size_t first = k;
    if (window->epilogue) ++k;
    windows.emplace(first, std::move(*window));
  }
  return windows;
}

// The results of stage `k` go straight into its epilogue.
bool in_registers(const std::map<size_t, WindowReductionPlan>& windows, size_t k) {
  auto window = windows.find(k);
  return window != windows.end() && window->second.epilogue;
}

// Stage after stage, windows with their epilogues.
Stmt schedule_stages(const TensorFunction& f, const std::map<size_t, WindowReductionPlan>& windows,
                     const std::map<Buffer, Layout>& layouts, const Machine& machine, int threads) {
  std::vector<Stmt> body;
  for (size_t k = 0; k < f.stages.size(); ++k) {
    auto window = windows.find(k);
    body.push_back(window == windows.end() ? schedule_stage(f.stages[k], layouts, machine)
                                           : schedule_window_reduction(window->second, layouts, machine, threads));
    if (in_registers(windows, k)) ++k;
  }
  return sequence(std::move(body));
}

using Preparation = std::function<Constant(const Constant&)>;

// What a family of schedules decides about a function.
struct Decision {
  // Constants that the kernel wants in another form: the buffer that it reads in place of the parameter, and how to
  // make it.
  std::map<Buffer, std::pair<Buffer, Preparation>> constants;
  std::vector<Buffer> scratch;
  std::function<Stmt(const Machine&, const TuningConfig&)> body;
};

Decision decide(WinogradPlan plan) {
  return {{{plan.contraction.weights.buffer,
            {plan.weights, [plan](const Constant& c) { return prepare_winograd(plan, c); }}}},
          {plan.transformed, plan.products},
          [plan](const Machine& m, const TuningConfig&) { return schedule_winograd(plan, m); }};
}

// What a contraction needs in memory, beside its operands and its result.
Decision copies_of(const ContractionPlan& plan, std::map<Buffer, Layout>& layouts) {
  Decision d;
  const Buffer& weights = plan.contraction.weights.buffer;
  if (plan.packs_at_run_time)
    d.scratch.push_back(plan.panels);
  else if (plan.panels)
    d.constants[weights] = {plan.panels, [shape = static_shape(weights->shape), layout = plan.weights_layout](
                                             const Constant& c) { return pack(c.reshaped(shape), layout); }};
  if (plan.data_copy) {
    d.scratch.push_back(plan.data_copy);
    layouts[plan.data_copy] = plan.data_layout;
  }
  return d;
}

Decision decide(ContractionPlan plan, std::map<Buffer, Layout>& layouts) {
  Decision d = copies_of(plan, layouts);
  d.body = [plan](const Machine& m, const TuningConfig& c) { return schedule_contraction(plan, m, c); };
  return d;
}

Decision decide(LineBufferPlan plan, std::map<Buffer, Layout>& layouts) {
  Decision d = copies_of(plan.producer, layouts);
  d.scratch.push_back(plan.strip);
  layouts[plan.strip] = plan.strip_layout;
  for (const auto& [buffer, layout] : plan.consumer.constants) layouts[buffer] = layout;
  d.body = [plan, layouts](const Machine& m, const TuningConfig& c) {
    return schedule_line_buffer(plan, layouts, m, c);
  };
  return d;
}

Decision decide(const TensorFunction& f, std::map<Buffer, Layout>& layouts, const std::vector<bool>& constant,
                int threads) {
  auto windows = plan_window_reductions(f, layouts, constant);
  Decision d;
  for (size_t k = 0; k < f.stages.size(); ++k)
    for (const Buffer& b : f.stages[k].results)
      if (index_of(f.results, b) < 0 && !in_registers(windows, k)) d.scratch.push_back(b);
  d.body = [&f, windows, layouts, threads](const Machine& m, const TuningConfig&) {
    return schedule_stages(f, windows, layouts, m, threads);
  };
  return d;
}

}  // namespace

std::vector<Range> wanted_halo(const TensorFunction& f, size_t k, const std::vector<bool>& constant,
                               const ScheduleOptions& options, const Machine& machine) {
  constexpr int64_t most_growth = 4;  // of the storage
  std::vector<Range> wanted;
  if (!is_static(f.params[k]->shape)) return wanted;
  if (int64_t tile = winograd_tile(f, constant, options, machine);
      tile && find_contraction(f, constant)->data.buffer == f.params[k])
    wanted = winograd_reads(f, constant, tile);
  for (const Stage& stage : f.stages) {
    if (!stage.reduction) continue;
    for (const Expr& v : stage.values)
      for (const Load& l : loads_of(v)) {
        if (l.buffer != f.params[k] || !l.otherwise || !is_literal(l.otherwise, 0)) continue;
        std::vector<Range> read = ranges_read(l, ranges_of(stage));
        if (wanted.empty()) wanted = read;
        for (size_t d = 0; d < read.size(); ++d)
          wanted[d] = {std::min(wanted[d].low, read[d].low), std::max(wanted[d].high, read[d].high)};
      }
  }
  int64_t stored = 1, count = 1;
  for (size_t d = 0; d < wanted.size(); ++d) {
    int64_t extent = f.params[k]->shape[d].value();
    wanted[d] = {std::min<int64_t>(wanted[d].low, 0), std::max(wanted[d].high, extent - 1)};
    stored *= wanted[d].high - wanted[d].low + 1, count *= extent;
    if (stored > most_growth * count) return {};
  }
  return stored == count ? std::vector<Range>() : wanted;
}

ScheduledFunction schedule(ScheduleRequest r) {
  for (size_t k = 0; k < r.constant.size(); ++k)
    if (r.constant[k]) r.layouts[k] = {};
  merge_axes(r.function, r.layouts);
  TensorFunction& f = r.function;
  pad_constant_vectors(r, r.layouts);
  std::map<Buffer, Layout> layouts;
  for (size_t k = 0; k < f.params.size(); ++k) layouts[f.params[k]] = r.layouts[k];
  for (size_t k = 0; k < f.results.size(); ++k) layouts[f.results[k]] = r.layouts[f.params.size() + k];
  // Other machines than the deciding one see of the config what concerns storage.
  r.machines.back() = with_config(deciding(r.machines), r.config);
  auto winograd = plan_winograd(f, r.layouts, r.constant, r.options, deciding(r.machines), r.config);
  auto contraction = winograd
                         ? std::nullopt
                         : plan_contraction(f, r.layouts, r.constant, r.options, deciding(r.machines), false, r.config);
  auto strips = winograd || contraction
                    ? std::nullopt
                    : plan_line_buffer(f, r.layouts, r.constant, r.options, deciding(r.machines), r.config);
  Decision decision = winograd      ? decide(std::move(*winograd))
                      : contraction ? decide(std::move(*contraction), layouts)
                      : strips      ? decide(std::move(*strips), layouts)
                                    : decide(f, layouts, r.constant, r.options.threads);

  ScheduledFunction result;
  std::vector<Parameter> params;
  for (const Buffer& b : f.params) {
    auto other = decision.constants.find(b);
    bool packed = other != decision.constants.end();
    params.push_back({packed ? other->second.first : b, Access::read});
    result.prepare.push_back(packed ? other->second.second
                                    : Preparation([shape = static_shape(b->shape), layout = layouts[b]](
                                                      const Constant& c) { return pack(c.reshaped(shape), layout); }));
  }
  for (const Buffer& b : f.results) params.push_back({b, Access::write});
  for (const Buffer& b : decision.scratch) params.push_back({b, Access::scratch});
  for (const Machine& machine : r.machines) {
    std::vector<Stmt> body;
    for (const Buffer& b : f.results) body.push_back(zero_halo(b, layouts[b]));
    body.push_back(decision.body(machine, &machine == &r.machines.back() ? r.config : TuningConfig()));
    Stmt all = sequence(std::move(body));
    Kernel kernel{f.name, params, all ? with_unique_names(all) : make_stmt(Sequence{})};
    result.variants.push_back(apply_layouts(kernel, layouts));
  }
  for (size_t k = 0; k < f.params.size(); ++k) r.layouts[k] = layouts[f.params[k]];
  result.in_place = in_place_pairs(r, r.layouts);
  return result;
}

}  // namespace dlcc::tensor
