// The schedule of a function with leading axes of symbolic extent, such as a batch, whose slices are static
// (tensor/slices.h). One slice is scheduled by the schedules for static shapes, with their layouts and packed
// constants. The kernel computes one slice after the other, and all slices use the same scratch:
//
//   for b in count: kernel of one slice, with x[b, ..] in place of x[..]
//
// If there are several threads and slices need no scratch, a run with many slices distributes the slices over the
// threads, and a run with few slices distributes the work of each slice:
//
//   if threads <= count: parallel b in count: kernel of one slice
//   else: for b in count: kernel of one slice, with its parallel loops
#pragma once

#include <optional>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// Empty if the function has no such axes, if slices are not contiguous in storage, or if all stages are elementwise or
// reduce rows along the innermost axis: those are scheduled over all slices at once.
std::optional<ScheduledFunction> schedule_outer_axes(const ScheduleRequest&);

}  // namespace dlcc::tensor
