// Orders the blocks of a stacked arena (lower/plan.h). The order is constant, and no order is best for all sizes:
// blocks of constant size weigh more when the others are small. Where the user tells the typical sizes, the order is
// that of the packing for them. Else it is, among the packings for several sizes, the one whose arena exceeds the live
// bytes least where it exceeds them most.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lower/pack_buffers.h"
#include "lower/plan.h"

namespace dlcc::lower {

// A temporary, or the temporaries of an in-place chain, which have equal sizes, or a workspace.
struct Chain {
  Dim bytes;          // the largest, over sizes that are known before the run; 0 if `function` is one
  LiveBuffer buffer;  // its size: the bound, if all chains have one
  int function = -1;  // of a workspace whose size is that of a stacked arena
};

// Sizes for which orders are compared.
struct SizeSample {
  std::map<std::string, int64_t> symbols;  // their values
  std::vector<int64_t> arenas;             // bytes of the arenas of the functions that are already planned
};

// The typical sizes; and sizes around them unless the user tells which are typical.
std::vector<SizeSample> size_samples(const Program&);

struct StackedArena {
  std::vector<StackedBlock> blocks;
  std::vector<int> block_of;  // by chain
  int64_t live_bound = 0;     // bytes, for the first sample
};
StackedArena stack(const std::vector<Chain>&, const std::vector<SizeSample>&);

// The plan of a function with constant offsets for the sizes; a plan with constant offsets as it is.
FunctionPlan lay_out(const FunctionPlan&, const SizeSample&);

}  // namespace dlcc::lower
