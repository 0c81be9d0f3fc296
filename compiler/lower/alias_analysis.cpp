#include "lower/alias_analysis.h"

#include <algorithm>

#include "lower/walk.h"

namespace dlcc::lower {

AliasAnalysis::AliasAnalysis(const Program& program, const Function& function, const FunctionPlan& plan,
                             const std::vector<FunctionPlan>& functions)
    : program_(program), function_(function), plan_(plan), sizes_(program, function) {
  const size_t values = function.values.size(), blocks = plan.blocks.size();
  std::vector<const Call*> calls;
  for_each_function_call(function.body, [&](const Call& call) { calls.push_back(&call); });
  if (plan.offsets.size() != values || (plan.is_stacked() && plan.block_of.size() != values) ||
      plan.workspaces.size() != calls.size()) {
    violation_ = fmt::format("the plan is not for {} values and {} calls of functions", values, calls.size());
    return;
  }
  for (size_t k = 0; k < blocks; ++k) {
    below_.emplace_back(blocks);
    for (int b : plan.blocks[k].below) {
      if (b < 0 || static_cast<size_t>(b) >= k) {
        violation_ = fmt::format("block {} is above {}, which is not computed before it", k, b);
        return;
      }
      below_[k][static_cast<size_t>(b)] = true;
      for (size_t j = 0; j < blocks; ++j)
        if (below_[static_cast<size_t>(b)][j]) below_[k][j] = true;
    }
  }
  for (ValueId v = 0; v < static_cast<ValueId>(values) && violation_.empty(); ++v) check(v);
  for (size_t k = 0; k < calls.size() && violation_.empty(); ++k)
    check(*calls[k], plan.workspaces[k], functions.at(static_cast<size_t>(calls[k]->function)));
}

void AliasAnalysis::check(ValueId v) {
  const Value& value = function_.values[static_cast<size_t>(v)];
  const MemorySize size = memory_.emplace_back(sizes_(v));
  capacity_.push_back(size.upper_bound().value_or(-1));
  if (value.storage != Storage::temporary || !plan_.has_memory(v)) return;
  const Allocation allocation{fmt::format("%{}", v), size, value.alignment, position(v)};
  plan_.is_stacked() ? check_block(allocation) : check_offset(allocation);
}

void AliasAnalysis::check(const Call& call, int64_t position, const FunctionPlan& callee) {
  capacity_.push_back(callee.is_stacked() ? -1 : callee.arena_bytes);
  const std::string label =
      fmt::format("the workspace of @{}", program_.functions.at(static_cast<size_t>(call.function)).name);
  if (position < 0 && callee.has_arena()) violation_ = label + " has no place in the arena";
  if (position < 0) return;
  const int function = callee.is_stacked() ? call.function : -1;
  const Allocation allocation{label, {callee.arena_bytes}, callee.arena_alignment, position, function};
  plan_.is_stacked() ? check_block(allocation) : check_offset(allocation);
}

void AliasAnalysis::check_offset(const Allocation& p) {
  const auto bound = p.size.upper_bound();
  if (!bound || p.function >= 0)
    violation_ = fmt::format("{} has {} bytes, which has no bound, and a constant offset", p.label, p.size.bytes.str());
  else if (p.position > plan_.arena_bytes - *bound)
    violation_ =
        fmt::format("{} at offset {} is outside the arena of {} bytes", p.label, p.position, plan_.arena_bytes);
  if (p.alignment < 1 || p.position % p.alignment != 0 || plan_.arena_alignment % p.alignment != 0)
    violation_ = fmt::format("{} is not aligned to {}", p.label, p.alignment);
}

void AliasAnalysis::check_block(const Allocation& p) {
  if (p.position >= static_cast<int64_t>(plan_.blocks.size())) {
    violation_ = fmt::format("{} is in block {}, which does not exist", p.label, p.position);
    return;
  }
  const StackedBlock& block = plan_.blocks[static_cast<size_t>(p.position)];
  if (block.function != p.function)
    violation_ = fmt::format("block {} is not for the arena of {}", p.position, p.label);
  else if (p.function < 0 && !provably_le(p.size, block.size))
    violation_ = fmt::format("{} has {} bytes, its block {}", p.label, p.size.bytes.str(), block.size.bytes.str());
  if (p.alignment < 1 || block.alignment % p.alignment != 0 || plan_.arena_alignment % block.alignment != 0)
    violation_ = fmt::format("{} is not aligned to {}", p.label, p.alignment);
}

int64_t AliasAnalysis::position(ValueId v) const {
  const auto k = static_cast<size_t>(v), values = function_.values.size();
  if (k >= values) return plan_.workspaces[k - values];
  return plan_.is_stacked() ? plan_.block_of[k] : plan_.offsets[k];
}

bool AliasAnalysis::may_alias(ValueId a, ValueId b) const {
  const int64_t i = position(a), j = position(b);
  if (plan_.is_stacked())
    return !is_below(static_cast<int>(i), static_cast<int>(j)) && !is_below(static_cast<int>(j), static_cast<int>(i));
  return i < j + capacity_[static_cast<size_t>(b)] && j < i + capacity_[static_cast<size_t>(a)];
}

std::optional<int64_t> AliasAnalysis::memory_at(ValueId v, const std::map<std::string, int64_t>& sizes) const {
  const MemorySize& memory = memory_[static_cast<size_t>(v)];
  auto is_natural = [&](const Dim& d) { return d.evaluate(sizes).value_or(0) >= 0; };
  return std::ranges::all_of(memory.checks, is_natural) ? memory.at(sizes) : std::nullopt;
}

bool AliasAnalysis::begin_together(ValueId a, ValueId b) const { return position(a) == position(b); }

int64_t AliasAnalysis::alignment(ValueId v) const {
  if (plan_.is_stacked()) return plan_.blocks[static_cast<size_t>(plan_.block_of[static_cast<size_t>(v)])].alignment;
  int64_t known = plan_.arena_alignment;
  while (known > 1 && plan_.offsets[static_cast<size_t>(v)] % known != 0) known /= 2;
  return known;
}

}  // namespace dlcc::lower
