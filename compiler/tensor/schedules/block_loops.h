// Joins the kernels of blocks of rows to one kernel over all rows. The rows are cut into blocks of a few sizes, the
// largest first, as many of each as fit:
//
//   parallel b in floordiv(n, 64): kernel of 64 rows, with x[64 * b + i, ..] in place of x[i, ..]
//   for b in the rest by 16: kernel of 16 rows
//   ..
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensor/schedules/schedule.h"
#include "tensor/slices.h"

namespace dlcc::tensor {

// The schedule of a block of `rows` rows. The last block may have as many rows as are left: a symbol.
struct RowBlock {
  Dim rows;
  ScheduledFunction scheduled;
};

// The schedule of the whole function. `slices`: the division into blocks, along one axis; `blocks`: by falling size.
// Blocks share scratch buffers of equal shape; the blocks of the first size run in parallel if they have
// no scratch. Empty if blocks of different sizes do not read the same packed constants.
std::optional<ScheduledFunction> join_row_blocks(const TensorFunction&, const Slices& slices,
                                                 const std::vector<RowBlock>& blocks);

}  // namespace dlcc::tensor
