// The schedule of products of a symbolic number of rows with static weights: x[n, 768] times w[768, 768]. A block of
// rows is a static contraction, whose register tiles and panels are those of contraction.h; blocks of all sizes read
// the same packed weights (Machine::row_block_sizes). Products of fewer columns than a panel needs
// (Machine::min_n_of_contraction) are computed in the same blocks, with the weights as they are:
//
//   parallel b in floordiv(n, 64): contraction of rows 64 * b + [0, 64)
//   for b in the rest by 16: contraction of 16 rows          # at most three blocks
//   for b in the rest by 4: contraction of 4 rows            # at most three blocks
//   the rest: a contraction of 3, 2 or 1 rows                # at most one block, since each block reads all weights
#pragma once

#include <optional>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {

// Empty unless the function is a contraction whose rows (M) are its one symbolic axis, and the first one.
std::optional<ScheduledFunction> schedule_row_blocks(const ScheduleRequest&);

}  // namespace dlcc::tensor
