#include "lower/stacked_arena.h"

#include <algorithm>
#include <limits>

#include "lower/instantiate.h"
#include "support/integers.h"

namespace dlcc::lower {

namespace {

int64_t bytes_at(const MemorySize& size, int function, const SizeSample& sample) {
  constexpr int64_t beyond_any_arena = INT64_MAX / 4;
  if (function >= 0) return sample.arenas[static_cast<size_t>(function)];
  return size.at(sample.symbols).value_or(beyond_any_arena);
}

std::vector<LiveBuffer> buffers_at(const std::vector<Chain>& chains, const SizeSample& sample) {
  std::vector<LiveBuffer> buffers;
  for (const Chain& chain : chains) {
    buffers.push_back(chain.buffer);
    buffers.back().size = bytes_at(chain.size, chain.function, sample);
  }
  return buffers;
}

// Each block is above the blocks that are below it in the packing and live at the same time. So the stacked arena is no
// larger than the packing, for the sizes of the packing.
StackedArena in_order_of(const Packing& packing, const std::vector<Chain>& chains) {
  std::vector<size_t> order(chains.size());
  for (size_t k = 0; k < chains.size(); ++k) order[k] = k;
  std::ranges::stable_sort(order, {}, [&](size_t k) { return packing.offsets[k]; });
  StackedArena arena{.blocks = {}, .block_of = std::vector<int>(chains.size(), -1)};
  for (size_t k : order) {
    const Chain& chain = chains[k];
    StackedBlock block{chain.size, chain.buffer.alignment, {}, chain.function};
    std::vector<bool> implied(arena.blocks.size());  // below a block that is below this one
    for (size_t other = arena.blocks.size(); other-- > 0;) {
      const LiveBuffer& below = chains[order[other]].buffer;
      const bool meets = below.lower < chain.buffer.upper && chain.buffer.lower < below.upper;
      if (meets && !implied[other]) block.below.push_back(static_cast<int>(other));
      if (!meets && !implied[other]) continue;
      for (int further : arena.blocks[other].below) implied[static_cast<size_t>(further)] = true;
    }
    arena.block_of[k] = static_cast<int>(arena.blocks.size());
    arena.blocks.push_back(std::move(block));
  }
  return arena;
}

// The begin and end of each block, in bytes.
struct BlockExtents {
  std::vector<int64_t> begin, end;
  int64_t bytes = 0;
};

BlockExtents extents_of(const std::vector<StackedBlock>& blocks, const SizeSample& sample) {
  BlockExtents extents;
  for (const StackedBlock& b : blocks) {
    int64_t offset = 0;
    for (int k : b.below) offset = std::max(offset, extents.end[static_cast<size_t>(k)]);
    extents.begin.push_back(round_up(offset, b.alignment));
    extents.end.push_back(extents.begin.back() + bytes_at(b.size, b.function, sample));
    extents.bytes = std::max(extents.bytes, extents.end.back());
  }
  return extents;
}

}  // namespace

std::vector<SizeSample> size_samples(const Program& program) {
  std::vector<SizeSample> samples = {{typical_sizes(program), {}}};
  if (std::ranges::any_of(program.dims, [](const InputDim& d) { return d.typical > 0; })) return samples;
  for (double scale : {0.25, 4.0, 16.0}) samples.push_back({typical_sizes(program, scale), {}});
  return samples;
}

StackedArena stack(const std::vector<Chain>& chains, const std::vector<SizeSample>& samples) {
  std::vector<int64_t> live_bounds;
  std::vector<StackedArena> arenas;
  for (const SizeSample& sample : samples) {
    const std::vector<LiveBuffer> buffers = buffers_at(chains, sample);
    live_bounds.push_back(live_bound(buffers));
    arenas.push_back(in_order_of(pack_buffers(buffers), chains));
  }
  const auto largest_excess = [&](const StackedArena& arena) {
    double excess = 0;
    for (size_t k = 0; k < samples.size(); ++k)
      excess = std::max(excess, static_cast<double>(extents_of(arena.blocks, samples[k]).bytes) /
                                    static_cast<double>(std::max<int64_t>(live_bounds[k], 1)));
    return excess;
  };
  StackedArena best = samples.size() == 1 ? arenas[0] : *std::ranges::min_element(arenas, {}, largest_excess);
  best.live_bound = live_bounds[0];
  return best;
}

FunctionPlan lay_out(const FunctionPlan& plan, const SizeSample& sample) {
  if (!plan.is_stacked()) return plan;
  const BlockExtents extents = extents_of(plan.blocks, sample);
  FunctionPlan result{
      .arena_bytes = extents.bytes, .arena_alignment = plan.arena_alignment, .live_bound = plan.live_bound};
  auto offset_of = [&](int64_t block) { return block < 0 ? -1 : extents.begin[static_cast<size_t>(block)]; };
  for (int block : plan.block_of) result.offsets.push_back(offset_of(block));
  for (int64_t block : plan.workspaces) result.workspaces.push_back(offset_of(block));
  return result;
}

}  // namespace dlcc::lower
