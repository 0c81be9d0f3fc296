// Loops that write a value slice by slice, as the checker of storage plans sees them. Lowering has an analysis of its
// own.
#pragma once

#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

// The values that the loop writes completely, one slice in each iteration: the loop counts from 0 to a constant, and a
// step of its body writes the slice at the counter, or the slices in reverse order.
std::vector<ValueId> written_by_slices(const Program&, const Function&, const Loop&);

}  // namespace dlcc::lower
