// The tuner's view of a schedule request: its key in tuning records, and its tuning candidates.
#include <fmt/format.h>

#include <set>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {
namespace {

// Every member of Machine. A member that is missing here does not compile: there would be one name too few.
#define MACHINE_MEMBERS                                                                                                \
  vector_bytes, vector_registers, general_registers, has_fma, has_fpu, has_long_multiply, multiplies_by_lane,          \
      byte_products, fma_units, accumulators_in_flight, product_registers, paired_product_registers,                   \
      byte_pair_registers, unassigned_registers, cache_line_bytes, l1_bytes, l2_bytes, l1_way_bytes, l1_ways,          \
      machine_balance, prefetch_streams, min_k_blocks_to_prefetch, min_n_of_contraction, tile_overhead,                \
      tile_row_overhead, grid_overhead, min_k_of_split_sums, k_unroll, scalar_k_unroll, min_share_of_padding,          \
      block_copy_cost, min_unrolled_blocks, tiles_per_m_block, max_uncut_m_blocks, row_block_sizes, panel_widths,      \
      panels_at_once, max_n_of_exact_panels, max_m_of_shared_panels, max_m_of_dot_products, max_m_of_weights_in_place, \
      max_tiles_of_early_k_blocking, min_n_to_gather, memory_is_scarce, min_k_to_interleave,                           \
      max_half_blocks_to_interleave, winograd_transform_cost, winograd_block_bytes, min_winograd_tiles_per_thread,     \
      max_unrolled_updates, max_row_tiles, shared_element_registers, max_results_of_several_blocks,                    \
      max_unrolled_indices, max_row_vectors, max_lane_stride, dense_result_overhead, dense_copy_cost,                  \
      min_reads_to_copy, elementwise_chunk, min_elementwise_chunks, min_table_uses, max_unrolled_period,               \
      max_broadcast_versions, max_transposed_tile, row_accumulators, call_cost, fork_cost, min_task_cost,              \
      max_tasks_per_thread, register_store_cost, memory_store_cost, memory_load_cost, max_call_share,                  \
      registers_per_loop, max_halo_growth

std::string text_of(const Machine& m) {
  const auto& [MACHINE_MEMBERS] = m;
  std::string text;
  auto add = [&](const auto& member) {
    if constexpr (requires { member.begin(); })
      text += fmt::format("{} ", fmt::join(member, " "));
    else
      text += fmt::format("{} ", static_cast<double>(member));
  };
  [&](const auto&... member) { (add(member), ...); }(MACHINE_MEMBERS);
  return text;
}
#undef MACHINE_MEMBERS

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
