// The storage planner: gives every temporary an offset in the arena, the one block of scratch memory that the caller of
// a model provides.
//
// Temporaries whose sizes are bounded are packed at constant offsets, each with room for its largest size. If a size is
// unbounded, the arena is stacked: what is constant is the order of the temporaries, and a run computes their offsets
// from the sizes that the caller gives. A temporary begins at the end of the highest one below it, so that temporaries
// which are live at the same time are disjoint whatever the sizes are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

// The part of a stacked arena that a temporary, or a chain of temporaries that share memory in place, has.
struct StackedBlock {
  Dim bytes;
  int64_t alignment = 1;   // bytes
  std::vector<int> below;  // the blocks at whose ends or above it begins; each has a smaller index than this one
};

struct StoragePlan {
  std::vector<int64_t> offsets;  // bytes, by value id; -1 for unused temporaries and other values, and when stacked
  int64_t arena_bytes = 0;       // 0 when stacked
  int64_t arena_alignment = tensor::storage_alignment;  // bytes
  int64_t live_bound = 0;  // the largest number of bytes that are live at the same time: no plan needs less

  std::vector<StackedBlock> blocks;  // of a stacked arena; empty for constant offsets
  std::vector<int> block_of;         // by value id, when stacked; -1 as in `offsets`

  bool is_stacked() const { return !blocks.empty(); }
  bool has_memory(ValueId v) const {
    return (is_stacked() ? int64_t{block_of[static_cast<size_t>(v)]} : offsets[static_cast<size_t>(v)]) >= 0;
  }
};

// Values that are never live at the same time may share memory. A result takes the memory of an operand of an in-place
// pair when the operand is a temporary, or a view of all of one, whose last use is this call. The two operands of a
// Copy never share memory. The packing is that of lower/pack_buffers.h; blocks are stacked in the order of a packing
// for typical sizes.
StoragePlan plan_storage(const Program&);

// The offsets of a plan for these values of the program's symbols, and the arena that they need.
struct ArenaLayout {
  std::vector<int64_t> offsets;  // as StoragePlan::offsets
  int64_t bytes = 0;
};
ArenaLayout lay_out_arena(const Program&, const StoragePlan&, const std::map<std::string, int64_t>& symbols);

}  // namespace dlcc::lower
