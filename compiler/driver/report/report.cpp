#include "driver/report/report.h"

#include <algorithm>
#include <cmath>

#include "driver/report/arena_map.h"
#include "driver/report/nominal_machine.h"
#include "driver/report/step_table.h"
#include "shape/caller_sizes.h"
#include "support/version.h"

namespace dlcc::driver {
namespace {

using nlohmann::json;

const char* storage_name(lower::Storage s) {
  switch (s) {
    case lower::Storage::input:
      return "input";
    case lower::Storage::output:
      return "output";
    case lower::Storage::constant:
      return "constant";
    case lower::Storage::temporary:
    case lower::Storage::view:
      return "arena";
  }
  DLCC_UNREACHABLE("storage {}", static_cast<int>(s));
}

// A view has the storage of its base.
json operands_json(const lower::Function& function, const std::vector<lower::ValueId>& operands) {
  json list = json::array();
  for (lower::ValueId v : operands) {
    const lower::Value& value = function.values[static_cast<size_t>(v)];
    bool view = value.storage == lower::Storage::view;
    const lower::Value& stored = view ? function.values[static_cast<size_t>(value.base)] : value;
    list.push_back({{"name", value.name},
                    {"dtype", name(value.type)},
                    {"stored_shape", static_shape(value.shape)},
                    {"bytes", value.bytes.value()},
                    {"storage", storage_name(stored.storage)}});
  }
  return list;
}

json nullable(bool known, int64_t number) { return known ? json(number) : json(); }

json totals_json(const ReportInput& in, const std::vector<lower::StepCost>& steps, double estimated_seconds) {
  const emit::Interface& i = in.planned.interface;
  return {{"parameters", in.contents.parameters},
          {"macs", i.macs},
          {"weights_bytes", i.weights_bytes},
          {"weights_file_bytes", nullable(i.weights_file.has_value(), i.weights_file ? i.weights_file->bytes : 0)},
          {"code_bytes", in.sizes.code_bytes},
          {"flash_bytes", in.sizes.code_bytes + in.sizes.data_bytes},
          {"arena_bytes", in.planned.plan.arena_bytes},
          {"arena_align_bytes", i.arena_alignment},
          {"stack_bytes", i.stack_bytes},
          {"steps", steps.size()},
          {"estimated_us", estimated_seconds * 1e6}};
}

json estimate_json(const NominalMachine& m) {
  return {{"cpu_level", m.cpu_level},
          {"cores", m.cores},
          {"clock_ghz", m.clock_hz * 1e-9},
          {"flops_per_cycle_and_core", m.flops_per_cycle},
          {"gflops", m.flops_per_second * 1e-9},
          {"gigabytes_per_second", m.bytes_per_second * 1e-9}};
}

json step_report(const lower::Program& program, const lower::StepCost& cost, double seconds, double total_seconds) {
  json row = step_json(cost);
  row["step"] = nullable(cost.number >= 0, cost.number);
  row["position"] = cost.position;
  row["macs"] = cost.flops / 2;
  const bool is_in_function = cost.function >= 0;
  const lower::Function& f = is_in_function ? program.functions[static_cast<size_t>(cost.function)] : program;
  if (is_in_function) row["function"] = f.name;
  row["reads"] = operands_json(f, cost.reads);
  row["writes"] = operands_json(f, cost.writes);
  row["estimated_us"] = seconds * 1e6;
  row["estimated_percent"] = total_seconds > 0 ? 100 * seconds / total_seconds : 0.0;
  return row;
}

// Inputs and outputs: their live ranges in memory of the caller.
json interface_json(const emit::Interface& interface, const std::vector<emit::TensorInterface>& tensors,
                    const std::vector<lower::ValueId>& values, const lower::Program& program,
                    const lower::Timeline& timeline) {
  json list = tensors_json(interface, tensors);
  for (size_t k = 0; k < values.size(); ++k) {
    const lower::LiveRange& live = timeline.ranges[static_cast<size_t>(values[k])];
    list[k]["bytes"] = program.values[static_cast<size_t>(values[k])].bytes.value();
    list[k]["first_position"] = nullable(!live.empty(), live.first);
    list[k]["last_position"] = nullable(!live.empty(), live.last);
  }
  return list;
}

json arena_json(const lower::Program& program, const lower::StoragePlan& plan) {
  ArenaMap map = arena_map(program, plan);
  json buffers = json::array();
  for (const ArenaBuffer& b : map.buffers) {
    buffers.push_back({{"name", b.name},
                       {"dtype", name(b.type)},
                       {"stored_shape", static_shape(b.shape)},
                       {"scratch", b.scratch},
                       {"offset_bytes", b.offset},
                       {"bytes", b.bytes},
                       {"first_position", b.live.first},
                       {"last_position", b.live.last},
                       {"in_place_of", nullable(b.in_place_of >= 0, b.in_place_of)}});
  }
  return {{"bytes", plan.arena_bytes},          {"live_bound_bytes", plan.live_bound}, {"positions", map.positions},
          {"peak_position", map.peak_position}, {"peak_live_bytes", map.peak_bytes},   {"buffers", std::move(buffers)}};
}

// Latencies in about 2 sqrt(calls) bins of equal width, up to the 99th percentile; the last bin also has the latencies
// above.
json histogram_json(const Profile& p) {
  int bins = std::clamp(static_cast<int>(2 * std::sqrt(static_cast<double>(p.seconds.size()))), 8, 48);
  double low = p.quantile(0), high = std::max(p.quantile(0.99), low * 1.02 + 1e-9);
  std::vector<int> counts(static_cast<size_t>(bins));
  for (double t : p.seconds)
    ++counts[static_cast<size_t>(std::min(static_cast<int>((t - low) / (high - low) * bins), bins - 1))];
  return {{"low_ms", low * 1e3}, {"high_ms", high * 1e3}, {"counts", counts}};
}

json measured_json(const Profile& p) {
  return {{"cpu", p.cpu},
          {"date", p.date},
          {"runs", p.seconds.size()},
          {"profiled_calls", p.calls},
          {"min_ms", p.quantile(0) * 1e3},
          {"median_ms", p.quantile(0.5) * 1e3},
          {"p95_ms", p.quantile(0.95) * 1e3},
          {"p99_ms", p.quantile(0.99) * 1e3},
          {"max_ms", p.quantile(1) * 1e3},
          {"histogram", histogram_json(p)},
          {"peak_gflops", p.roof.peak * 1e-9},
          {"bandwidth_gigabytes_per_second", p.roof.bandwidth * 1e-9},
          {"bandwidth_buffer_bytes", p.roof.buffer_bytes},
          {"steps_us", p.step_seconds() * 1e6},
          {"gflops", p.gflops()},
          {"percent_of_floor", 100 * p.of_floor()}};
}

json measured_step(const Profile& p, const StepProfile& s) {
  return {{"median_us", s.seconds * 1e6},          {"min_us", s.shortest * 1e6},
          {"percent", 100 * p.share_of_time(s)},   {"gflops", s.gflops()},
          {"gigabytes_per_second", s.gigabytes()}, {"percent_of_floor", 100 * s.of_floor}};
}

json steps_json(const ReportInput& in, const std::vector<lower::StepCost>& steps, const NominalMachine& machine,
                double total_seconds) {
  json list = json::array();
  for (const lower::StepCost& cost : steps)
    list.push_back(step_report(in.planned.program, cost, estimated_seconds(machine, cost), total_seconds));
  if (!in.profile) return list;
  size_t next = 0;  // measured steps are the calls, in the same order
  for (json& row : list)
    if (!row["step"].is_null()) row["measured"] = measured_step(*in.profile, in.profile->steps[next++]);
  return list;
}

}  // namespace

static json axis_json(const emit::Interface& interface, const Dim& axis) {
  if (axis.is_constant()) return axis.value();
  const std::string text = interface.for_people(axis).str();
  const bool is_given = std::ranges::all_of(axis.symbols(), [&](const Symbol& s) {
    return std::ranges::count(interface.dims, s, &emit::DimInterface::symbol) +
               std::ranges::count(interface.input_sizes, s, &emit::InputSize::symbol) >
           0;
  });
  return is_given || text.starts_with('?') ? text : "?" + text;
}

json tensors_json(const emit::Interface& interface, const std::vector<emit::TensorInterface>& tensors) {
  json list = json::array();
  for (const emit::TensorInterface& t : tensors) {
    json shape = json::array();
    for (const Dim& d : t.shape) shape.push_back(axis_json(interface, d));
    list.push_back({{"name", t.name}, {"identifier", t.identifier}, {"dtype", name(t.type)}, {"shape", shape}});
  }
  return list;
}

json dims_json(const emit::Interface& interface) {
  json list = json::array();
  for (const emit::DimInterface& d : interface.dims)
    list.push_back({{"name", d.name},
                    {"identifier", d.identifier},
                    {"low", d.low()},
                    {"high", nullable(d.is_bounded(), d.high())},
                    {"multiple", d.multiple}});
  return list;
}

json report_json(const ReportInput& in) {
  const Planned& planned = in.planned;
  const lower::Program& program = planned.program;
  NominalMachine machine = nominal_machine(planned.target, program.threads);
  std::vector<lower::StepCost> steps = lower::step_costs(program);
  double total_seconds = 0;
  for (const lower::StepCost& cost : steps) total_seconds += estimated_seconds(machine, cost);
  json dims = dims_json(planned.interface);
  for (size_t k = 0; k < dims.size(); ++k) dims[k]["size"] = planned.interface.dims[k].typical;
  json levels = json::array();
  for (const targets::CodeLevel& level : planned.target.levels) levels.push_back(level.name);
  lower::Timeline timeline = lower::timeline_of(program);
  json report = {
      {"format", 1},
      {"dlcc_version", version},
      {"model", planned.interface.prefix},
      {"provenance", planned.interface.provenance},
      {"target", {{"name", planned.target.name}, {"cpu_levels", levels}, {"threads", program.threads}}},
      {"totals", totals_json(in, steps, total_seconds)},
      {"operators", in.contents.operators},
      {"dims", dims},
      {"inputs", interface_json(planned.interface, planned.interface.inputs, program.inputs, program, timeline)},
      {"outputs", interface_json(planned.interface, planned.interface.outputs, program.outputs, program, timeline)},
      {"estimate", estimate_json(machine)},
      {"steps", steps_json(in, steps, machine, total_seconds)},
      {"arena", arena_json(program, planned.plan)}};
  if (in.profile) report["measured"] = measured_json(*in.profile);
  return report;
}

}  // namespace dlcc::driver
