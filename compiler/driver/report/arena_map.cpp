#include "driver/report/arena_map.h"

#include <algorithm>
#include <map>

namespace dlcc::driver {
namespace {

// The names that kernels give their scratch, by value.
std::map<lower::ValueId, std::string> scratch_names(const lower::Program& program, const lower::Timeline& timeline) {
  std::map<lower::ValueId, std::string> names;
  for (const auto& [at, call] : timeline.calls) {
    const tensor::Kernel& kernel = program.kernels[static_cast<size_t>(call->kernel)].variants.front();
    for (size_t k = 0; k < call->operands.size(); ++k)
      if (kernel.params[k].access == tensor::Access::scratch) names[call->operands[k]] = kernel.params[k].buffer->name;
  }
  return names;
}

// Buffers that are live at the same position and have the same offset are an operand, written before, and its result.
void link_in_place(std::vector<ArenaBuffer>& buffers) {
  std::map<std::pair<int64_t, int64_t>, int> operands;  // by offset and last position
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].live.first < buffers[i].live.last)
      operands[{buffers[i].offset, buffers[i].live.last}] = static_cast<int>(i);
  for (ArenaBuffer& b : buffers)
    if (auto operand = operands.find({b.offset, b.live.first}); operand != operands.end())
      b.in_place_of = operand->second;
}

// Finds the peak. A buffer that takes over another one's storage adds nothing at its first position, where both are
// live.
void find_peak(ArenaMap& map) {
  std::vector<int64_t> change(static_cast<size_t>(map.positions) + 1);
  for (const ArenaBuffer& b : map.buffers) {
    change[static_cast<size_t>(b.live.first + (b.in_place_of >= 0))] += b.bytes;
    change[static_cast<size_t>(b.live.last + 1)] -= b.bytes;
  }
  int64_t live = 0;
  for (int64_t at = 0; at < map.positions; ++at) {
    live += change[static_cast<size_t>(at)];
    if (live <= map.peak_bytes) continue;
    map.peak_bytes = live;
    map.peak_position = at;
  }
}

}  // namespace

ArenaMap arena_map(const lower::Program& program, const lower::StoragePlan& plan) {
  lower::Timeline timeline = lower::timeline_of(program);
  std::map<lower::ValueId, std::string> scratch = scratch_names(program, timeline);
  ArenaMap map{.positions = timeline.length};
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (plan.offsets[v] < 0 || program.values[v].bytes == Dim(0)) continue;
    auto value = static_cast<lower::ValueId>(v);
    auto name = scratch.find(value);
    map.buffers.push_back({.value = value,
                           .name = name == scratch.end() ? program.values[v].name : name->second,
                           .type = program.values[v].type,
                           .shape = program.values[v].shape,
                           .bytes = program.values[v].bytes.value(),
                           .scratch = name != scratch.end(),
                           .offset = plan.offsets[v],
                           .live = timeline.ranges[v]});
  }
  link_in_place(map.buffers);
  for (size_t k = 0; k < timeline.function_calls.size(); ++k) {
    if (plan.workspaces[k] < 0) continue;
    const auto& [at, call] = timeline.function_calls[k];
    const int64_t bytes = plan.functions[static_cast<size_t>(call->function)].arena_bytes;
    map.buffers.push_back({.name = program.functions[static_cast<size_t>(call->function)].name,
                           .shape = {bytes},
                           .bytes = bytes,
                           .scratch = true,
                           .offset = plan.workspaces[k],
                           .live = {at, at}});
  }
  find_peak(map);
  return map;
}

}  // namespace dlcc::driver
