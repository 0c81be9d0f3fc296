// Computes the live range of every value, lets results take the memory of operands that die at their call, and packs
// the resulting buffers into one arena.
#include "lower/plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lower/live_ranges.h"
#include "lower/memory_sizes.h"
#include "lower/stacked_arena.h"

namespace dlcc::lower {
namespace {

// Chains of values that share memory in place. The owner of a chain is its first value.
class InPlace {
 public:
  InPlace(const Function& function, const Timeline& timeline) : function_(function), ranges_(timeline.ranges) {
    for (size_t v = 0; v < function.values.size(); ++v) owner_.push_back(static_cast<ValueId>(v));
    for (const auto& [at, call] : timeline.calls) {
      std::set<ValueId> taken;
      for (const auto& [written, read] : call->in_place) join(*call, at, written, read, taken);
    }
  }

  ValueId owner(ValueId v) const { return owner_[v]; }

 private:
  // The temporary that has exactly the bytes of the value, if there is one.
  std::optional<ValueId> whole_temporary(ValueId v) const {
    const Value& value = function_.values[v];
    const ValueId base = value.storage == Storage::view ? value.base : v;
    if (function_.values[base].storage != Storage::temporary) return {};
    if (base != v && (value.base_offset != 0 || value.bytes != function_.values[base].bytes)) return {};
    return base;
  }

  bool may_share(const Invoke& call, int64_t at, int written, ValueId result, ValueId operand) const {
    if (result == operand || function_.values[result].bytes != function_.values[operand].bytes) return false;
    if (ranges_[operand].last != at || ranges_[result].first != at) return false;
    // Neither may occur in this call outside of a declared pair.
    for (int k = 0; k < static_cast<int>(call.operands.size()); ++k) {
      const Value& value = function_.values[call.operands[k]];
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

  const Function& function_;
  const std::vector<LiveRange>& ranges_;
  std::vector<ValueId> owner_;
};

// Plans one function after another.
class Planner {
 public:
  explicit Planner(const Program& program) : program_(program), samples_(size_samples(program)) {}

  StoragePlan run() {
    for (const Function& f : program_.functions) {
      callees_.push_back(plan(f));
      for (SizeSample& sample : samples_) sample.arenas.push_back(lay_out(callees_.back(), sample).arena_bytes);
    }
    StoragePlan result{plan(program_), {}};
    result.functions = std::move(callees_);
    return result;
  }

 private:
  FunctionPlan plan(const Function& function) {
    const Timeline timeline = timeline_of(function);
    const InPlace in_place(function, timeline);
    chains_.clear();
    bounded_ = true;
    FunctionPlan plan;
    std::vector<int> chain_of(function.values.size(), -1);  // by value
    add_temporaries(function, timeline, in_place, plan, chain_of);
    std::vector<int> workspace_of;  // by call
    for (const auto& [at, call] : timeline.function_calls) workspace_of.push_back(add_workspace(*call, at, plan));

    if (!bounded_) {
      StackedArena arena = stack(chains_, samples_);
      auto block = [&](int chain) { return chain < 0 ? -1 : arena.block_of[static_cast<size_t>(chain)]; };
      for (int chain : chain_of) plan.block_of.push_back(block(chain));
      for (int chain : workspace_of) plan.workspaces.push_back(block(chain));
      plan.offsets.assign(chain_of.size(), -1);
      plan.live_bound = arena.live_bound;
      plan.blocks = std::move(arena.blocks);
      return plan;
    }
    std::vector<LiveBuffer> buffers;
    for (const Chain& chain : chains_) buffers.push_back(chain.buffer);
    const Packing packing = pack_buffers(buffers);
    auto offset = [&](int chain) { return chain < 0 ? -1 : packing.offsets[static_cast<size_t>(chain)]; };
    for (int chain : chain_of) plan.offsets.push_back(offset(chain));
    for (int chain : workspace_of) plan.workspaces.push_back(offset(chain));
    plan.arena_bytes = packing.bytes;
    plan.live_bound = live_bound(buffers);
    return plan;
  }

  // Chains are added in the order of their owners.
  void add_temporaries(const Function& function, const Timeline& timeline, const InPlace& in_place, FunctionPlan& plan,
                       std::vector<int>& chain_of) {
    const MemorySizes sizes(program_, function);
    std::map<ValueId, Chain> by_owner;
    auto is_planned = [&](size_t v) {
      return function.values[v].storage == Storage::temporary && !timeline.ranges[v].empty();
    };
    for (size_t v = 0; v < function.values.size(); ++v) {
      if (!is_planned(v)) continue;
      const Value& value = function.values[v];
      const LiveRange& range = timeline.ranges[v];
      const MemorySize size = sizes(static_cast<ValueId>(v));
      auto bound = size.upper_bound();
      if (bound && *bound > tensor::max_value_bytes) bound = std::nullopt;
      bounded_ &= bound.has_value();
      const LiveBuffer self{bound ? *bound : 0, range.first, range.last + 1, value.alignment};
      const auto [it, fresh] = by_owner.emplace(in_place.owner(static_cast<ValueId>(v)), Chain{size, self});
      // All values of a chain have equal bytes.
      std::erase_if(it->second.size.checks, [&](const Dim& d) { return std::ranges::count(size.checks, d) == 0; });
      LiveBuffer& chain = it->second.buffer;
      chain.size = std::max(chain.size, self.size);
      chain.lower = std::min(chain.lower, self.lower);
      chain.upper = std::max(chain.upper, self.upper);
      chain.alignment = std::max(chain.alignment, self.alignment);
      plan.arena_alignment = std::max(plan.arena_alignment, self.alignment);
    }
    std::map<ValueId, int> index_of;
    for (const auto& [owner, chain] : by_owner) {
      index_of[owner] = static_cast<int>(chains_.size());
      chains_.push_back(chain);
    }
    for (size_t v = 0; v < function.values.size(); ++v)
      if (is_planned(v)) chain_of[v] = index_of.at(in_place.owner(static_cast<ValueId>(v)));
  }

  // The arena of the callee, which is live during the call only; -1 if it has none.
  int add_workspace(const Call& call, int64_t at, FunctionPlan& plan) {
    const auto k = static_cast<size_t>(call.function);
    const FunctionPlan& callee = callees_[k];
    if (!callee.has_arena()) return -1;
    const bool is_stacked = callee.is_stacked();
    bounded_ &= !is_stacked;
    plan.arena_alignment = std::max(plan.arena_alignment, callee.arena_alignment);
    chains_.push_back({{is_stacked ? Dim(0) : Dim(callee.arena_bytes)},
                       {callee.arena_bytes, at, at + 1, callee.arena_alignment},
                       is_stacked ? call.function : -1});
    return static_cast<int>(chains_.size()) - 1;
  }

  const Program& program_;
  std::vector<SizeSample> samples_;
  std::vector<FunctionPlan> callees_;
  // Of the function that is planned:
  std::vector<Chain> chains_;
  bool bounded_ = true;
};

}  // namespace

StoragePlan plan_storage(const Program& program) { return Planner(program).run(); }

StoragePlan lay_out_arena(const StoragePlan& plan, const std::map<std::string, int64_t>& symbols) {
  StoragePlan result;
  SizeSample sample{symbols, {}};
  for (const FunctionPlan& f : plan.functions) {
    result.functions.push_back(lay_out(f, sample));
    sample.arenas.push_back(result.functions.back().arena_bytes);
  }
  static_cast<FunctionPlan&>(result) = lay_out(plan, sample);
  return result;
}

}  // namespace dlcc::lower
