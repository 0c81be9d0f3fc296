// Concatenation without copies: what is laid next to each other is computed in its place.
#pragma once

#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

// A call that only copies its operands, each to a contiguous run of its result.
struct Pieces {
  size_t step;  // of the program's outermost region
  ValueId result;
  std::vector<ValueId> operands;
  std::vector<int64_t> offsets;  // bytes from the beginning of the result
};

// Makes the operands views of the result, or the result a view of what already holds all operands side by side, and
// removes the call; where neither is possible the call stays. `calls` are in the order of their steps.
void in_place_concat(Program&, const std::vector<Pieces>& calls);

}  // namespace dlcc::lower
