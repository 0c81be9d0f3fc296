// Numbers the steps of the region tree, computes the live range of every value, lets results take the memory of
// operands that die at their call, and packs the resulting buffers into one arena.
//
// Steps are numbered in the order of the program's text, so that the arms of a branch have disjoint positions. A value
// is live from its first to its last occurrence. A loop has one position before and one after its body; a value that
// occurs both inside and outside of it is live during all of the loop. An occurrence of a view is one of its base.
#include "lower/plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lower/pack_buffers.h"

namespace dlcc::lower {
namespace {

// The positions [first, last]; empty for a value without uses.
struct LiveRange {
  int64_t first = -1, last = -1;

  bool empty() const { return first < 0; }
  void add(int64_t at) {
    first = empty() ? at : std::min(first, at);
    last = std::max(last, at);
  }
};

// The positions of values, calls and loops.
struct Timeline {
  std::vector<LiveRange> ranges;                         // by value; empty for views
  std::vector<std::pair<int64_t, const Invoke*>> calls;  // in order of position
  std::vector<LiveRange> loops;                          // their positions; inner loops first
};

class Numbering {
 public:
  explicit Numbering(const Program& program) : program_(program) { timeline_.ranges.resize(program.values.size()); }

  Timeline run() {
    number(program_.body);
    for (const LiveRange& loop : timeline_.loops)
      for (LiveRange& value : timeline_.ranges) extend_over(loop, value);
    return std::move(timeline_);
  }

 private:
  void number(const Region& region) {
    for (const Step& step : region.steps) std::visit([&](const auto& s) { number(s); }, step);
  }
  void number(const Invoke& call) {
    const int64_t at = next_++;
    for (ValueId v : call.operands) occurs(v, at);
    timeline_.calls.emplace_back(at, &call);
  }
  void number(const Copy& copy) {
    const int64_t at = next_++;
    occurs(copy.from, at);
    occurs(copy.to, at);
  }
  void number(const std::shared_ptr<Branch>& branch) {
    occurs(branch->condition, next_++);
    number(branch->then_region);
    number(branch->else_region);
  }
  void number(const std::shared_ptr<Repeat>& loop) {
    LiveRange range;
    range.add(next_++);
    number(loop->body);
    range.add(next_++);
    occurs(loop->condition, range.first);
    occurs(loop->condition, range.last);
    timeline_.loops.push_back(range);
  }

  void occurs(ValueId v, int64_t at) {
    const Value& value = program_.values[v];
    timeline_.ranges[value.storage == Storage::view ? value.base : v].add(at);
  }

  static void extend_over(const LiveRange& loop, LiveRange& value) {
    const bool meets = !value.empty() && value.first <= loop.last && loop.first <= value.last;
    const bool inside = loop.first < value.first && value.last < loop.last;
    if (!meets || inside) return;
    value.add(loop.first);
    value.add(loop.last);
  }

  const Program& program_;
  int64_t next_ = 0;
  Timeline timeline_;
};

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
  const Timeline timeline = Numbering(program).run();
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
