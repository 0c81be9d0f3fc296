// The tuner's view of a schedule request: its key in tuning records, and its tuning candidates.
#include <fmt/format.h>

#include <set>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {
namespace {

// Every number of the machine but byte_products, which follows from the target. A member that is added to Machine must
// be added here, or this does not compile.
std::string text_of(const Machine& m) {
  const auto& [vector_bytes, vector_registers, general_registers, has_fma, multiplies_by_lane, byte_products,
               accumulators_in_flight, product_registers, paired_product_registers, unassigned_registers,
               cache_line_bytes, l1_bytes, l2_bytes, l1_way_bytes, l1_ways, machine_balance, prefetch_streams,
               min_k_blocks_to_prefetch, tile_overhead, tile_row_overhead, grid_overhead, min_k_of_split_sums, k_unroll,
               tiles_per_m_block, panel_widths, panels_at_once, max_n_of_exact_panels, max_m_of_shared_panels,
               max_m_of_dot_products, max_tiles_of_early_k_blocking, min_n_to_gather, min_k_to_interleave,
               max_half_blocks_to_interleave, winograd_transform_cost, winograd_block_bytes, max_unrolled_updates,
               elementwise_chunk, row_accumulators, call_cost, fork_cost, min_task_cost, max_tasks_per_thread,
               register_store_cost, memory_store_cost, memory_load_cost, max_call_share, registers_per_loop,
               max_halo_growth] = m;
  auto join = [](const auto&... number) {
    std::string text;
    ((text += fmt::format("{} ", number)), ...);
    return text;
  };
  return join(vector_bytes, vector_registers, general_registers, has_fma, multiplies_by_lane, accumulators_in_flight,
              product_registers, paired_product_registers, unassigned_registers, cache_line_bytes, l1_bytes, l2_bytes,
              l1_way_bytes, l1_ways, machine_balance, prefetch_streams, min_k_blocks_to_prefetch, tile_overhead,
              tile_row_overhead, grid_overhead, min_k_of_split_sums, k_unroll, tiles_per_m_block, panel_widths[0],
              panel_widths[1], panel_widths[2], panels_at_once, max_n_of_exact_panels, max_m_of_shared_panels,
              max_m_of_dot_products, max_tiles_of_early_k_blocking, min_n_to_gather, min_k_to_interleave,
              max_half_blocks_to_interleave, winograd_transform_cost, winograd_block_bytes, max_unrolled_updates,
              elementwise_chunk, row_accumulators, call_cost, fork_cost, min_task_cost, max_tasks_per_thread,
              register_store_cost, memory_store_cost, memory_load_cost, max_call_share, registers_per_loop,
              max_halo_growth);
}

// The storage machine's kernel as text; its parameters show the layouts of packed constants.
std::string kernel_text(ScheduleRequest r, const TuningConfig& config) {
  r.machines = {storage_machine(r.machines)};
  r.config = config;
  return print(schedule(std::move(r)).variants[0]);
}

}  // namespace

uint64_t hash_of(const ScheduleRequest& r) {
  TensorFunction f = r.function;
  f.name = std::string("f");
  std::string text = print(f);
  for (bool constant : r.constant) text += constant ? "constant\n" : "variable\n";
  for (const Layout& layout : r.layouts) text += str(layout) + "\n";
  text += fmt::format("machine {}\n", text_of(storage_machine(r.machines)));
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
