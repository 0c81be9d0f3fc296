// Loops that write a value slice by slice, as the checker of storage plans sees them. Lowering has an analysis of its
// own.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lower/program.h"
#include "lower/sample_sizes.h"

namespace dlcc::lower {

// The values that the loop writes completely, one slice in each iteration: the loop counts from 0 to a constant, and a
// step of its body writes the slice at the counter, or the slices in reverse order.
std::vector<ValueId> written_by_slices(const Program&, const Function&, const Loop&);

// The first slices of a value, one for each iteration of a loop.
struct CountedSlices {
  ValueId value;
  int64_t bytes;  // of all of them
};

// The values of which the loop writes the slice at its counter in each iteration, where a step of `after`, the steps of
// the same region after the loop, defines a size as the counter. The loop counts from 0 by 1, and anything may end it.
// The function is an instance at `sizes`, which has the number of iterations. Before each write, the loop's condition
// or a requirement ensures that the slice is in the memory of the value, which has `memory_of(value)` bytes.
std::vector<CountedSlices> counted_slices(const Program&, const Function&, const Loop&, std::span<const Step> after,
                                          const Sizes& sizes, const std::function<int64_t(ValueId)>& memory_of);

}  // namespace dlcc::lower
