// The storage planner: gives every temporary an offset in the arena, the one block of scratch memory that the caller of
// a model provides.
//
// Temporaries whose sizes are bounded are packed at constant offsets, each with room for its largest size. If a size is
// unbounded, the arena is stacked: the plan fixes only the order of the temporaries, and a run computes their offsets
// from the sizes that the caller gives. A temporary begins at the end of the highest one below it, so that temporaries
// that are live at the same time are disjoint for all sizes.
//
// A function is planned once, before its callers, and has an arena of its own: the workspace, a part of the caller's
// arena that is live during the call.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lower/memory_sizes.h"
#include "lower/program.h"

namespace dlcc::lower {

// A part of a stacked arena: the memory of a temporary, of an in-place chain of temporaries, or of a workspace.
struct StackedBlock {
  MemorySize size;         // no bytes if `function` is one
  int64_t alignment = 1;   // bytes
  std::vector<int> below;  // blocks at whose ends, or above, this one begins; all have smaller indices
  int function = -1;       // of a workspace of unknown size: the function, whose stacked arena is the size
};

// The memory of the program's own steps, or of a function.
struct FunctionPlan {
  // Bytes, by value id; -1 for unused temporaries, for values that are not temporaries, and when stacked.
  std::vector<int64_t> offsets = {};
  int64_t arena_bytes = 0;                              // 0 when stacked
  int64_t arena_alignment = tensor::storage_alignment;  // bytes
  int64_t live_bound = 0;  // the largest number of bytes that are live at the same time: no plan needs less

  std::vector<StackedBlock> blocks = {};  // of a stacked arena; empty for constant offsets
  std::vector<int> block_of = {};         // by value id, when stacked; -1 as in `offsets`

  // For each call of a function, in the order of lower/walk.h: the offset of the workspace, or its block when stacked;
  // -1 if the function has no arena.
  std::vector<int64_t> workspaces = {};

  bool is_stacked() const { return !blocks.empty(); }
  bool has_memory(ValueId v) const {
    return (is_stacked() ? int64_t{block_of[static_cast<size_t>(v)]} : offsets[static_cast<size_t>(v)]) >= 0;
  }
  bool has_arena() const { return is_stacked() || arena_bytes > 0; }
};

struct StoragePlan : FunctionPlan {
  std::vector<FunctionPlan> functions;  // as in Program::functions
};

// Values that are never live at the same time may share memory. A result takes the memory of an operand of an in-place
// pair when the operand is a temporary, or a view of all of one, whose last use is this call. The two operands of a
// Copy never share memory. lower/pack_buffers.h packs the buffers, and lower/stacked_arena.h orders the blocks of a
// stacked arena.
StoragePlan plan_storage(const Program&);

// A plan with constant offsets: the offsets of the plan for these values of the program's symbols.
StoragePlan lay_out_arena(const StoragePlan&, const std::map<std::string, int64_t>& symbols);

}  // namespace dlcc::lower
