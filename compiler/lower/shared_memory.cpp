#include "lower/shared_memory.h"

#include "lower/largest_size.h"

namespace dlcc::lower {

SharedMemory::SharedMemory(const Program& program, const StoragePlan& plan) : program_(program), plan_(plan) {
  const size_t values = program.values.size(), blocks = plan.blocks.size();
  if (plan.offsets.size() != values || (plan.is_stacked() && plan.block_of.size() != values)) {
    violation_ = fmt::format("the plan is not for {} values", values);
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
}

void SharedMemory::check(ValueId v) {
  const Value& value = program_.values[static_cast<size_t>(v)];
  const Dim bytes = largest_size(program_, value.bytes);
  const auto bound = bytes.upper_bound();
  capacity_.push_back(bound.value_or(-1));
  if (value.storage != Storage::temporary || !plan_.has_memory(v)) return;
  int64_t begins_at_multiple_of = plan_.arena_alignment;
  if (plan_.is_stacked()) {
    const int k = plan_.block_of[static_cast<size_t>(v)];
    if (k >= static_cast<int>(plan_.blocks.size())) {
      violation_ = fmt::format("%{} is in block {}, which does not exist", v, k);
      return;
    }
    const StackedBlock& block = plan_.blocks[static_cast<size_t>(k)];
    begins_at_multiple_of = block.alignment;
    if (!provably_le(bytes, block.bytes))
      violation_ = fmt::format("%{} has {} bytes, its block {}", v, value.bytes.str(), block.bytes.str());
  } else {
    const int64_t offset = plan_.offsets[static_cast<size_t>(v)];
    if (!bound)
      violation_ = fmt::format("%{} has {} bytes, which has no bound, and a constant offset", v, value.bytes.str());
    else if (offset > plan_.arena_bytes - *bound)
      violation_ = fmt::format("%{} at offset {} is outside the arena of {} bytes", v, offset, plan_.arena_bytes);
    if (offset % value.alignment != 0) begins_at_multiple_of = 1;
  }
  if (value.alignment < 1 || begins_at_multiple_of % value.alignment != 0 ||
      plan_.arena_alignment % begins_at_multiple_of != 0)
    violation_ = fmt::format("%{} is not aligned to {}", v, value.alignment);
}

bool SharedMemory::may_share(ValueId a, ValueId b) const {
  const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
  if (plan_.is_stacked()) {
    const int k = plan_.block_of[i], l = plan_.block_of[j];
    return !is_below(k, l) && !is_below(l, k);
  }
  return plan_.offsets[i] < plan_.offsets[j] + capacity_[j] && plan_.offsets[j] < plan_.offsets[i] + capacity_[i];
}

bool SharedMemory::begin_together(ValueId a, ValueId b) const {
  const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
  return plan_.is_stacked() ? plan_.block_of[i] == plan_.block_of[j] : plan_.offsets[i] == plan_.offsets[j];
}

int64_t SharedMemory::alignment(ValueId v) const {
  if (plan_.is_stacked()) return plan_.blocks[static_cast<size_t>(plan_.block_of[static_cast<size_t>(v)])].alignment;
  int64_t known = plan_.arena_alignment;
  while (known > 1 && plan_.offsets[static_cast<size_t>(v)] % known != 0) known /= 2;
  return known;
}

}  // namespace dlcc::lower
