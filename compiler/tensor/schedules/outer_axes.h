// The schedule of a function with leading axes of symbolic extent, such as a batch, whose slices are static
// (tensor/slices.h). One slice is scheduled by the schedules for static shapes, with their layouts and packed
// constants. The kernel computes slice after slice; scratch is used by each of them again:
//
//   for b in count: kernel of one slice, with x[b, ..] in place of x[..]
//
// Where threads share the work and slices need no scratch, a run of many slices shares them out, and a run of few
// shares each slice:
//
//   if threads <= count: parallel b in count: kernel of one slice
//   else: for b in count: kernel of one slice, with its parallel loops
#pragma once

#include <optional>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// Empty if the function has no such axes, or nothing but elementwise stages, which have long vector loops as a whole.
std::optional<ScheduledFunction> schedule_outer_axes(const ScheduleRequest&);

}  // namespace dlcc::tensor
