// Computes the live range of every value, lets results take the memory of operands that die at their call, and packs
// the resulting buffers into one arena.
#include "lower/plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lower/live_ranges.h"
#include "lower/pack_buffers.h"

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

}  // namespace

StoragePlan plan_storage(const Program& program) {
  const Timeline timeline = timeline_of(program);
  const InPlace in_place(program, timeline);

  // One buffer for each chain of values that share storage.
  std::map<ValueId, LiveBuffer> chains;
  StoragePlan plan;
  plan.offsets.assign(program.values.size(), -1);
  for (size_t v = 0; v < program.values.size(); ++v) {
    const Value& value = program.values[v];
    const LiveRange& range = timeline.ranges[v];
    if (value.storage != Storage::temporary || range.empty()) continue;
    const LiveBuffer self{value.bytes, range.first, range.last + 1, value.alignment};
    const auto [it, fresh] = chains.emplace(in_place.owner(static_cast<ValueId>(v)), self);
    LiveBuffer& chain = it->second;
    chain.lower = std::min(chain.lower, self.lower);
    chain.upper = std::max(chain.upper, self.upper);
    chain.alignment = std::max(chain.alignment, self.alignment);
    plan.arena_alignment = std::max(plan.arena_alignment, self.alignment);
  }

  std::vector<LiveBuffer> buffers;
  for (const auto& [owner, buffer] : chains) buffers.push_back(buffer);
  const Packing packing = pack_buffers(buffers);
  plan.arena_bytes = packing.bytes;
  plan.live_bound = live_bound(buffers);
  std::map<ValueId, int64_t> offset_of;
  for (size_t i = 0; const auto& [owner, buffer] : chains) offset_of[owner] = packing.offsets[i++];
  for (size_t v = 0; v < program.values.size(); ++v)
    if (program.values[v].storage == Storage::temporary && !timeline.ranges[v].empty())
      plan.offsets[v] = offset_of.at(in_place.owner(static_cast<ValueId>(v)));
  return plan;
}

}  // namespace dlcc::lower
