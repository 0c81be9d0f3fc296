// The schedule of functions with several stages that reduce rows shorter than a vector, such as a softmax of x[n, 5].
// The lanes of a reduction are rows there, so that row fusion (passes/fuse_rows.h) does not apply, and stage by stage
// the function would keep a number for each of all rows. It is computed in blocks of rows, stage by stage; what is
// kept of the rows of a block is local:
//
//   parallel b in floordiv(n, 128):
//     alloc local largest: f32[128, 1]
//     the stages of 128 rows
//   the stages of the last n - 128 * floordiv(n, 128) rows
#pragma once

#include <optional>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// `whole`: the schedule stage by stage. Empty if it keeps little, if no reduced row is shorter than a vector, or if the
// rows are not independent along the first axis.
std::optional<ScheduledFunction> schedule_short_rows(const ScheduleRequest&, const ScheduledFunction& whole);

}  // namespace dlcc::tensor
