// What a tuner needs to know of a request: a name that other compilations find it by, and what else could be done.
#include <fmt/format.h>

#include <set>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {
namespace {

std::string text_of(const Machine& m) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", m.vector_bytes, m.vector_registers, m.has_fma,
                     m.accumulators_in_flight, m.tile_overhead, m.tile_row_overhead, m.k_unroll, m.machine_balance,
                     m.winograd_transform_cost, m.l1_bytes, m.l2_bytes, m.winograd_block_bytes, m.tiles_per_m_block);
}

// The deciding machine's kernel; its parameters show how constants are stored.
std::string kernel_text(ScheduleRequest r, const TuningConfig& config) {
  r.machines = {deciding(r.machines)};
  r.config = config;
  return print(schedule(std::move(r)).variants[0]);
}

}  // namespace

uint64_t hash_of(const ScheduleRequest& r) {
  TensorFunction f = r.function;
  f.name = "f";
  std::string text = print(f);
  for (bool constant : r.constant) text += constant ? "constant\n" : "variable\n";
  for (const Layout& layout : r.layouts) text += str(layout) + "\n";
  text += fmt::format("machine {}\n", text_of(deciding(r.machines)));
  text += fmt::format("options {} {} {}\n", r.options.strict, r.options.small, r.options.threads);
  return hash_bytes(std::as_bytes(std::span(text)));
}

std::vector<TuningConfig> tuning_candidates(const ScheduleRequest& r) {
  std::vector<TuningConfig> found;
  std::set<std::string> known = {kernel_text(r, {})};
  for (const TuningParameter& p : tuning_parameters())
    for (int64_t value : p.values) {
      TuningConfig config;
      config.*p.value = value;
      if (known.insert(kernel_text(r, config)).second) found.push_back(config);
    }
  return found;
}

}  // namespace dlcc::tensor
