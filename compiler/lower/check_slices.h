// Loops that write a value slice by slice, as the checker of storage plans sees them. Lowering has an analysis of its
// own.
#pragma once

#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

// The values of which each iteration of the loop writes one slice, so that all of them are written in the end: the loop
// counts from 0 to a constant, and a step of its body writes the slice at the counter, or at its distance from the end.
std::vector<ValueId> written_by_slices(const Program&, const Function&, const Loop&);

}  // namespace dlcc::lower
