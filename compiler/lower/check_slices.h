// Loops that write a value slice by slice, as the checker of storage plans sees them. Lowering has an analysis of its
// own.
#pragma once

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
  int64_t slice_bytes;
  int64_t count;  // the number of iterations
  int64_t
      limit;  // the loop's condition and its requirements ensure that the counter is smaller wherever it is an index
};

// The values of which the loop writes the slice at its counter in each iteration, where a step of `after`, the steps of
// the same region after the loop, defines a size as the counter. The loop counts from 0 by 1, and anything may end it.
// The function is an instance at `sizes`, which has the number of iterations.
std::vector<CountedSlices> counted_slices(const Program&, const Function&, const Loop&, std::span<const Step> after,
                                          const Sizes& sizes);

}  // namespace dlcc::lower
