// In-place concatenation: the operands of a concatenation are computed at their offsets in its result, without a copy.
#pragma once

#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

// A call that copies each operand to a contiguous part of its result and does nothing else.
struct ConcatCall {
  size_t step;  // index in the program's outermost region
  ValueId result;
  std::vector<ValueId> operands;
  std::vector<Dim> offsets;  // of the operands in the result, in bytes
};

// Removes calls. Either the operands become views of the result, or, if all operands are already views of one value at
// the same relative offsets, the result becomes a view of this value. If neither is possible, the call remains. `calls`
// are in the order of their steps. No step may write the result or an operand after the call, because the others then
// share this memory.
void in_place_concat(Program&, const std::vector<ConcatCall>& calls);

}  // namespace dlcc::lower
