// Orders the blocks of a stacked arena (lower/plan.h). The order is constant, and no order is best for all sizes:
// blocks of constant size weigh more when the others are small. If the user gives typical sizes, the order is that of
// the packing for these sizes. Else packings for several sample sizes are compared: the order is chosen whose largest
// ratio of arena to live bytes, over all samples, is smallest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lower/pack_buffers.h"
#include "lower/plan.h"

namespace dlcc::lower {

// The memory of a temporary, of an in-place chain of temporaries of equal size, or of a workspace.
struct Chain {
  MemorySize size;    // no bytes if `function` is set
  LiveBuffer buffer;  // its size is the bound, if all chains have one
  int function = -1;  // of a workspace of unknown size: the callee, whose arena is stacked
};

// Sample sizes, for which orders are compared.
struct SizeSample {
  std::map<std::string, int64_t> symbols;  // values of the symbols
  std::vector<int64_t> arenas;             // bytes of the arenas of the functions that are already planned
};

// The typical sizes; if the user gave none, also smaller and larger ones.
std::vector<SizeSample> size_samples(const Program&);

struct StackedArena {
  std::vector<StackedBlock> blocks;
  std::vector<int> block_of;  // by chain
  int64_t live_bound = 0;     // bytes, for the first sample
};
StackedArena stack(const std::vector<Chain>&, const std::vector<SizeSample>&);

// The plan with the constant offsets of these sizes; a plan that has constant offsets is returned unchanged.
FunctionPlan lay_out(const FunctionPlan&, const SizeSample&);

}  // namespace dlcc::lower
