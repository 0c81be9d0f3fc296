// Selects the schedule of a function and assembles its kernels.
#include "tensor/schedules/schedule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <variant>

#include "tensor/analysis.h"
#include "tensor/byte_products.h"
#include "tensor/index_facts.h"
#include "tensor/layout.h"
#include "tensor/passes/apply_layouts.h"
#include "tensor/passes/distribute_rows.h"
#include "tensor/passes/fuse_rows.h"
#include "tensor/passes/hoist_indices.h"
#include "tensor/passes/merge_axes.h"
#include "tensor/passes/shrink_scratch.h"
#include "tensor/passes/split_axes.h"
#include "tensor/passes/tensorize.h"
#include "tensor/schedules/column_reduction.h"
#include "tensor/schedules/constant_packing.h"
#include "tensor/schedules/contraction.h"
#include "tensor/schedules/dense_result.h"
#include "tensor/schedules/generic.h"
#include "tensor/schedules/in_place.h"
#include "tensor/schedules/inner_products.h"
#include "tensor/schedules/line_buffer.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/outer_axes.h"
#include "tensor/schedules/position_tables.h"
#include "tensor/schedules/row_blocks.h"
#include "tensor/schedules/row_search.h"
#include "tensor/schedules/separable_window.h"
#include "tensor/schedules/short_rows.h"
#include "tensor/schedules/sizes.h"
#include "tensor/schedules/statements.h"
#include "tensor/schedules/symbolic_contraction.h"
#include "tensor/schedules/tiled_reduction.h"
#include "tensor/schedules/transpose.h"
#include "tensor/schedules/window_reduction.h"
#include "tensor/schedules/winograd.h"
#include "tensor/simplify_symbolic.h"
#include "tensor/verify.h"
#include "tensor/visit.h"
#include "tensor/word_products.h"

namespace dlcc::tensor {
namespace {

// A reduction in register tiles, with the next stage where that is its epilogue.
using ReductionPlan = std::variant<WindowReductionPlan, TiledReductionPlan, ColumnReductionPlan>;

bool has_epilogue(const ReductionPlan& plan) {
  if (const auto* window = std::get_if<WindowReductionPlan>(&plan)) return window->epilogue.has_value();
  const auto* tiled = std::get_if<TiledReductionPlan>(&plan);
  return tiled && tiled->epilogue.has_value();
}

// The reductions of a function that are computed in register tiles, by their first stage. `layouts` gets the layouts of
// their constants.
std::map<size_t, ReductionPlan> plan_reductions(const TensorFunction& f, std::map<Buffer, Layout>& layouts,
                                                const std::vector<bool>& constant, const Machine& storage_machine) {
  std::map<size_t, ReductionPlan> reductions;
  for (size_t k = 0; k < f.stages.size(); ++k) {
    std::optional<ReductionPlan> plan;
    auto tiled = plan_tiled_reduction(f, k, layouts, storage_machine);
    if (tiled && shares_vectors(*tiled, storage_machine)) {
      plan = std::move(*tiled);
    } else if (auto window = plan_window_reduction(f, k, layouts, constant)) {
      for (const auto& [buffer, layout] : window->constants) layouts[buffer] = layout;
      plan = std::move(*window);
    } else if (auto columns = plan_column_reduction(f, k, layouts)) {
      plan = std::move(*columns);
    } else if (tiled) {
      plan = std::move(*tiled);
    }
    if (!plan) continue;
    size_t first = k;
    if (has_epilogue(*plan)) ++k;
    reductions.emplace(first, std::move(*plan));
  }
  return reductions;
}

// Whether the results of stage `k` stay in registers: the stage is a reduction in register tiles with an epilogue.
bool in_registers(const std::map<size_t, ReductionPlan>& reductions, size_t k) {
  auto plan = reductions.find(k);
  return plan != reductions.end() && has_epilogue(plan->second);
}

// The loops of all stages in order, row by row where stages have the same rows; a reduction and its epilogue are one
// loop nest.
Stmt schedule_stages(const TensorFunction& f, const std::map<size_t, ReductionPlan>& reductions,
                     const std::map<Buffer, Layout>& layouts, const Machine& machine, int threads) {
  auto of_stage = [&](size_t k) -> Stmt {
    auto plan = reductions.find(k);
    if (plan == reductions.end()) {
      if (Stmt transposed = schedule_transpose(f.stages[k], layouts, machine)) return transposed;
      return f.stages[k].body ? schedule_body(f.stages[k], machine) : schedule_stage(f.stages[k], layouts, machine);
    }
    return std::visit(overloaded{[&](const WindowReductionPlan& p) {
                                   return schedule_window_reduction(p, layouts, machine, threads);
                                 },
                                 [&](const TiledReductionPlan& p) { return schedule_tiled_reduction(p, machine); },
                                 [&](const ColumnReductionPlan& p) { return schedule_column_reduction(p, machine); }},
                      plan->second);
  };
  // Stages are not fused if a result is stored in blocks: its stage gathers operands and needs the registers for that.
  const bool fuses = std::ranges::all_of(f.results, [&](const Buffer& b) { return layout_of(layouts, b).is_dense(); });
  std::vector<Stmt> body;
  for (size_t k = 0; k < f.stages.size(); ++k) {
    Stmt loops = of_stage(k), both;
    if (fuses && !body.empty()) {
      both = fuse_rows(body.back(), loops);
      const Stmt elements = both ? nullptr : schedule_by_element(f.stages[k], layouts, machine);
      if (elements) both = fuse_rows(body.back(), elements);
    }
    if (both)
      body.back() = std::move(both);
    else
      body.push_back(std::move(loops));
    if (in_registers(reductions, k)) ++k;
  }
  return sequence(std::move(body));
}

using PackingFunction = std::function<Constant(const Constant&)>;

// A selected schedule: its packed constants, scratch buffers and loops.
struct Decision {
  // Constants that are packed: the buffer that the kernel reads in place of the parameter, and its packing function.
  std::map<Buffer, std::pair<Buffer, PackingFunction>> constants;
  std::vector<Buffer> scratch;
  std::function<Stmt(const Machine&, const TuningConfig&)> body;
  bool stage_by_stage = false;  // the scratch are results of stages, which may be local to loops over rows
};

Decision decide(WinogradPlan plan) {
  return {{{plan.contraction.weights.buffer,
            {plan.weights, [plan](const Constant& c) { return pack_winograd_weights(plan, c); }}}},
          {plan.transformed, plan.products},
          [plan](const Machine& m, const TuningConfig&) { return schedule_winograd(plan, m); }};
}

// The part of a decision that packs a contraction's weights and copies its operands, without loops.
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

Decision decide(ContractionPlan plan, std::map<Buffer, Layout>& layouts, const std::vector<Machine>& machines) {
  if (std::ranges::any_of(machines, multiplies_widened_data, &Machine::byte_products))
    plan_inner_products(plan, layout_of(layouts, plan.contraction.data.buffer));
  Decision d = copies_of(plan, layouts);
  if (plan.data_words) {
    d.scratch.insert(d.scratch.end(), {plan.data_words, plan.row_products});
    layouts[plan.data_words] = plan.words_layout;
  }
  d.body = [plan](const Machine& m, const TuningConfig& c) { return schedule_contraction(plan, m, c); };
  return d;
}

Decision decide(LineBufferPlan plan, std::map<Buffer, Layout>& layouts) {
  Decision d = copies_of(plan.producer, layouts);
  d.scratch.push_back(plan.line_buffer);
  layouts[plan.line_buffer] = plan.line_buffer_layout;
  for (const auto& [buffer, layout] : plan.consumer.constants) layouts[buffer] = layout;
  d.body = [plan, layouts](const Machine& m, const TuningConfig& c) {
    return schedule_line_buffer(plan, layouts, m, c);
  };
  return d;
}

Decision decide(const TensorFunction& f, std::map<Buffer, Layout>& layouts, const std::vector<bool>& constant,
                int threads, const Machine& storage_machine) {
  if (auto contraction = plan_symbolic_contraction(f, layouts, constant, storage_machine)) {
    Decision d;
    if (contraction->panels) d.scratch.push_back(contraction->panels);
    d.body = [&f, contraction](const Machine& m, const TuningConfig&) {
      return schedule_symbolic_contraction(f, *contraction, m);
    };
    return d;
  }
  const std::map<size_t, ReductionPlan> reductions = plan_reductions(f, layouts, constant, storage_machine);
  Decision d;
  for (size_t k = 0; k < f.stages.size(); ++k)
    for (const Buffer& b : f.stages[k].results)
      if (!std::ranges::count(f.results, b) && !std::ranges::count(d.scratch, b) && !in_registers(reductions, k))
        d.scratch.push_back(b);
  for (const auto& [stage, plan] : reductions)
    if (const auto* tiled = std::get_if<TiledReductionPlan>(&plan))
      for (const PaddedCopy& copy : tiled->copies) d.scratch.push_back(copy.padded);
  d.stage_by_stage = true;
  d.body = [&f, reductions, layouts, threads](const Machine& m, const TuningConfig&) {
    return schedule_stages(f, reductions, layouts, m, threads);
  };
  return d;
}

std::map<Buffer, Layout> layouts_of_operands(const ScheduleRequest& r) {
  std::map<Buffer, Layout> layouts;
  const TensorFunction& f = r.function;
  for (size_t k = 0; k < f.params.size(); ++k) layouts[f.params[k]] = r.layouts[k];
  for (size_t k = 0; k < f.results.size(); ++k) layouts[f.results[k]] = r.layouts[f.params.size() + k];
  return layouts;
}

// Stores a constant in the parameter's layout; null for symbolic sizes.
PackingFunction packing_of(const Buffer& b, const std::map<Buffer, Layout>& layouts) {
  if (!is_static(b->shape)) return nullptr;
  return [shape = static_shape(b->shape), layout = layout_of(layouts, b)](const Constant& c) {
    return pack(c.reshaped(shape), layout);
  };
}

// The schedule of all rows or slices at once.
ScheduledFunction schedule_whole(ScheduleRequest r) {
  for (size_t k = 0; k < r.constant.size(); ++k)
    if (r.constant[k]) r.layouts[k] = {};
  TensorFunction& f = r.function;
  if (!has_body(f)) {
    split_axes(f, r.layouts);
    merge_axes(f, r.layouts);
    pad_constant_vectors(r, r.layouts);
  }
  std::map<Buffer, Layout> layouts = layouts_of_operands(r);
  const Buffer stored = has_body(f) ? nullptr : read_blocks_as_stored(f, r.layouts);
  // The configuration overrides numbers of the storage machine only. It changes the loops of that machine's kernel, and
  // the packed constants and the scratch of all kernels.
  r.machines.back() = apply_config(storage_machine(r.machines), r.config);
  auto winograd = plan_winograd(f, r.layouts, r.constant, r.options, storage_machine(r.machines), r.config);
  const bool are_dense = std::ranges::all_of(r.layouts, [](const Layout& l) { return l.is_dense(); });
  const bool in_tiles_of_pixels =
      are_dense && !winograd && prefers_dense_result(f, r.constant, r.options, storage_machine(r.machines));
  auto contraction = winograd || in_tiles_of_pixels ? std::nullopt
                                                    : plan_contraction(f, r.layouts, r.constant, r.options,
                                                                       storage_machine(r.machines), false, r.config);
  auto line_buffer = winograd || contraction
                         ? std::nullopt
                         : plan_line_buffer(f, r.layouts, r.constant, r.options, storage_machine(r.machines), r.config);
  if (!winograd && !contraction && !line_buffer) {
    if (!has_body(f) && drop_unit_reduced_axes(f)) {
      merge_axes(f, r.layouts);
      layouts = layouts_of_operands(r);
    }
    divide_row_searches(f, storage_machine(r.machines));
    separate_windows(f, layouts, storage_machine(r.machines));
    tabulate_positions(f, storage_machine(r.machines));
  }
  Decision decision = winograd      ? decide(std::move(*winograd))
                      : contraction ? decide(std::move(*contraction), layouts, r.machines)
                      : line_buffer ? decide(std::move(*line_buffer), layouts)
                                    : decide(f, layouts, r.constant, r.options.threads, storage_machine(r.machines));

  if (stored) decision.constants[f.params[0]] = {stored, packing_of(f.params[0], layouts)};

  std::vector<Stmt> bodies;
  for (const Machine& machine : r.machines)
    bodies.push_back(decision.body(machine, &machine == &r.machines.back() ? r.config : TuningConfig()));
  // Machines that multiply words do not read the copy of the data.
  std::set<Buffer> used;
  for (const Stmt& body : bodies)
    for (const Buffer& b : free_in(body).buffers) used.insert(b);
  std::erase_if(decision.scratch, [&](const Buffer& b) { return !used.contains(b); });
  std::vector<Buffer> results_with_scratch;
  if (decision.stage_by_stage) {
    contract_scratch(bodies, decision.scratch, storage_machine(r.machines).max_row_scratch());
    std::vector<Buffer> dense = f.results;
    std::erase_if(dense, [&](const Buffer& b) { return !layout_of(layouts, b).is_dense(); });
    results_with_scratch = share_memory(bodies, decision.scratch, dense);
    if (r.options.threads == 1) reuse_rows(bodies, decision.scratch);
    for (size_t k = 0; k < bodies.size(); ++k) bodies[k] = distribute_rows(bodies[k], r.machines[k], r.options.threads);
  }

  ScheduledFunction result;
  std::vector<Parameter> params;
  for (const Buffer& b : f.params) {
    auto other = decision.constants.find(b);
    bool packed = other != decision.constants.end();
    params.push_back({packed ? other->second.first : b, Access::read});
    result.packing.push_back(packed ? other->second.second : packing_of(b, layouts));
  }
  for (const Buffer& b : f.results) params.push_back({b, Access::write});
  for (const Buffer& b : decision.scratch) params.push_back({b, Access::scratch});
  for (size_t k = 0; k < r.machines.size(); ++k) {
    const Machine& machine = r.machines[k];
    std::vector<Stmt> body;
    for (const Buffer& b : f.results) body.push_back(zero_halo(b, layouts[b]));
    body.push_back(bodies[k]);
    Stmt all = sequence(std::move(body));
    Kernel kernel{f.name, params, all ? with_unique_names(all) : make_stmt(Sequence{}), scalars_of_kernel(f)};
    kernel.body = hoist_indices(kernel.body, symbols_of(kernel));
    verify_after("schedule", kernel);
    Kernel& variant = result.variants.emplace_back(apply_layouts(kernel, layouts));
    if (machine.byte_products != ByteProducts::none)
      variant.body = tensorize(variant.body, byte_products(machine.byte_products));
    if (multiplies_widened_data(machine.byte_products)) variant.body = tensorize(variant.body, word_products());
    verify_after("tensorize", variant);
  }
  for (size_t k = 0; k < f.params.size(); ++k) r.layouts[k] = layouts[f.params[k]];
  if (results_with_scratch.empty()) result.in_place = in_place_pairs(r, r.layouts);
  return result;
}

// The machine with shorter unrolled loops. With it and with shared kernels (lower/share_kernels.h), the networks of
// MLPerf Tiny have 17 to 42 % less code on a Cortex-M4, and execute 5 to 20 % more instructions.
Machine with_small_code(Machine m) {
  if (!m.memory_is_scarce) return m;
  m.scalar_k_unroll = std::max<int64_t>(m.scalar_k_unroll / 2, 1);
  m.max_unrolled_updates /= 4;
  return m;
}

}  // namespace

ScheduledFunction schedule(ScheduleRequest r) {
  if (r.options.small) std::ranges::transform(r.machines, r.machines.begin(), with_small_code);
  simplify_symbolic(r.function);
  if (auto of_blocks = schedule_row_blocks(r)) return std::move(*of_blocks);
  if (auto of_slices = schedule_outer_axes(r)) return std::move(*of_slices);
  ScheduledFunction whole = schedule_whole(r);
  if (auto of_rows = schedule_short_rows(r, whole)) return std::move(*of_rows);
  return whole;
}

}  // namespace dlcc::tensor
