// Computes the live range of every value, lets results take the memory of operands that die at their call, and packs
// the resulting buffers into one arena.
#include "lower/plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lower/instantiate.h"
#include "lower/largest_size.h"
#include "lower/live_ranges.h"
#include "lower/pack_buffers.h"
#include "support/integers.h"

namespace dlcc::lower {
namespace {

// Chains of values that share memory in place. The owner of a chain is its first value.
class InPlace {
 public:
  InPlace(const Program& program, const Timeline& timeline) : program_(program), ranges_(timeline.ranges) {
    for (size_t v = 0; v < program.values.size(); ++v) owner_.push_back(static_cast<ValueId>(v));
    for (const auto& [at, call] : timeline.calls) {
      std::set<ValueId> taken;
      for (const auto& [written, read] : call->in_place) join(*call, at, written, read, taken);
    }
  }

  ValueId owner(ValueId v) const { return owner_[v]; }

 private:
  // The temporary that has exactly the bytes of the value, if there is one.
  std::optional<ValueId> whole_temporary(ValueId v) const {
    const Value& value = program_.values[v];
    const ValueId base = value.storage == Storage::view ? value.base : v;
    if (program_.values[base].storage != Storage::temporary) return {};
    if (base != v && (value.base_offset != 0 || value.bytes != program_.values[base].bytes)) return {};
    return base;
  }

  bool may_share(const Invoke& call, int64_t at, int written, ValueId result, ValueId operand) const {
    if (result == operand || program_.values[result].bytes != program_.values[operand].bytes) return false;
    if (ranges_[operand].last != at || ranges_[result].first != at) return false;
    // Neither may occur in this call outside of a declared pair.
    for (int k = 0; k < static_cast<int>(call.operands.size()); ++k) {
      const Value& value = program_.values[call.operands[k]];
      const ValueId base = value.storage == Storage::view ? value.base : call.operands[k];
      if (k == written || (base != operand && base != result)) continue;
      const bool declared = std::count(call.in_place.begin(), call.in_place.end(), std::pair(written, k)) > 0;
      if (base == result || !declared || whole_temporary(call.operands[k]) != operand) return false;
    }
    return true;
  }

  void join(const Invoke& call, int64_t at, int written, int read, std::set<ValueId>& taken) {
    const std::optional<ValueId> result = whole_temporary(call.operands[written]);
    const std::optional<ValueId> operand = whole_temporary(call.operands[read]);
    if (!result || !operand || taken.contains(*result) || taken.contains(*operand)) return;
    if (!may_share(call, at, written, *result, *operand)) return;
    owner_[*result] = owner_[*operand];
    taken.insert({*result, *operand});
  }

  const Program& program_;
  const std::vector<LiveRange>& ranges_;
  std::vector<ValueId> owner_;
};

// A temporary, or the temporaries of an in-place chain, which have equal sizes.
struct Chain {
  Dim bytes;
  LiveBuffer buffer;  // its size: the bound, or that for typical sizes
};

// Each block is above those that are below it in the packing for typical sizes and live at the same time. So for these
// sizes the stacked arena is no larger than the packing.
void stack(const std::vector<Chain>& chains, const Packing& packing, StoragePlan& plan, std::vector<int>& block_of) {
  std::vector<int> order;
  for (size_t k = 0; k < chains.size(); ++k) order.push_back(static_cast<int>(k));
  std::ranges::stable_sort(order, {}, [&](int k) { return packing.offsets[static_cast<size_t>(k)]; });
  block_of.assign(chains.size(), -1);
  for (int k : order) {
    const Chain& chain = chains[static_cast<size_t>(k)];
    StackedBlock block{chain.bytes, chain.buffer.alignment, {}};
    std::vector<bool> implied(plan.blocks.size());  // below a block that this one is above
    for (size_t other = plan.blocks.size(); other-- > 0;) {
      const LiveBuffer& below = chains[static_cast<size_t>(order[other])].buffer;
      const bool meets = below.lower < chain.buffer.upper && chain.buffer.lower < below.upper;
      if (meets && !implied[other]) block.below.push_back(static_cast<int>(other));
      if (!meets && !implied[other]) continue;
      for (int further : plan.blocks[other].below) implied[static_cast<size_t>(further)] = true;
    }
    block_of[static_cast<size_t>(k)] = static_cast<int>(plan.blocks.size());
    plan.blocks.push_back(std::move(block));
  }
}

}  // namespace

StoragePlan plan_storage(const Program& program) {
  constexpr int64_t largest_bound = int64_t{1} << 44;  // bytes; a larger size is as good as unbounded
  const Timeline timeline = timeline_of(program);
  const InPlace in_place(program, timeline);
  const std::map<std::string, int64_t> typical = typical_sizes(program);

  std::map<ValueId, Chain> chain_of;  // by owner
  StoragePlan plan;
  bool bounded = true;
  for (size_t v = 0; v < program.values.size(); ++v) {
    const Value& value = program.values[v];
    const LiveRange& range = timeline.ranges[v];
    if (value.storage != Storage::temporary || range.empty()) continue;
    const Dim bytes = largest_size(program, value.bytes);
    auto bound = bytes.upper_bound();
    if (bound && *bound > largest_bound) bound = std::nullopt;
    bounded &= bound.has_value();
    const LiveBuffer self{bound ? *bound : 0, range.first, range.last + 1, value.alignment};
    const auto [it, fresh] = chain_of.emplace(in_place.owner(static_cast<ValueId>(v)), Chain{bytes, self});
    LiveBuffer& chain = it->second.buffer;
    chain.lower = std::min(chain.lower, self.lower);
    chain.upper = std::max(chain.upper, self.upper);
    chain.alignment = std::max(chain.alignment, self.alignment);
    plan.arena_alignment = std::max(plan.arena_alignment, self.alignment);
  }

  std::vector<Chain> chains;
  std::vector<LiveBuffer> buffers;
  std::map<ValueId, size_t> index_of;
  for (const auto& [owner, chain] : chain_of) {
    index_of[owner] = chains.size();
    chains.push_back(chain);
    buffers.push_back(chain.buffer);
    if (!bounded) buffers.back().size = chain.bytes.evaluate(typical).value_or(INT64_MAX / 4);
  }
  const Packing packing = pack_buffers(buffers);
  plan.live_bound = live_bound(buffers);
  std::vector<int> block_of_chain;
  plan.offsets.assign(program.values.size(), -1);
  if (bounded) {
    plan.arena_bytes = packing.bytes;
  } else {
    stack(chains, packing, plan, block_of_chain);
    plan.block_of.assign(program.values.size(), -1);
  }
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (program.values[v].storage != Storage::temporary || timeline.ranges[v].empty()) continue;
    const size_t chain = index_of.at(in_place.owner(static_cast<ValueId>(v)));
    if (bounded)
      plan.offsets[v] = packing.offsets[chain];
    else
      plan.block_of[v] = block_of_chain[chain];
  }
  return plan;
}

ArenaLayout lay_out_arena(const Program& program, const StoragePlan& plan,
                          const std::map<std::string, int64_t>& symbols) {
  if (!plan.is_stacked()) return {plan.offsets, plan.arena_bytes};
  ArenaLayout layout;
  std::vector<int64_t> begin, end;
  for (const StackedBlock& b : plan.blocks) {
    int64_t offset = 0;
    for (int k : b.below) offset = std::max(offset, end[static_cast<size_t>(k)]);
    begin.push_back(round_up(offset, b.alignment));
    end.push_back(begin.back() + b.bytes.evaluate(symbols).value());
    layout.bytes = std::max(layout.bytes, end.back());
  }
  for (size_t v = 0; v < program.values.size(); ++v)
    layout.offsets.push_back(plan.block_of[v] < 0 ? -1 : begin[static_cast<size_t>(plan.block_of[v])]);
  return layout;
}

}  // namespace dlcc::lower
