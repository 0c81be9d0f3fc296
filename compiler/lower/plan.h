// The storage planner: gives every temporary an offset in the arena, the one block of scratch memory that the caller of
// a model provides.
#pragma once

#include <cstdint>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

struct StoragePlan {
  std::vector<int64_t> offsets;  // bytes, by value id; -1 for unused temporaries and other values
  int64_t arena_bytes = 0;
  int64_t arena_alignment = tensor::storage_alignment;  // bytes
  int64_t live_bound = 0;  // the largest number of bytes that are live at the same time: no plan needs less
};

// Values that are never live at the same time may share memory. A result takes the memory of an operand of an in-place
// pair when the operand is a temporary, or a view of all of one, whose last use is this call. The two operands of a
// Copy never share memory. The packing is that of lower/pack_buffers.h.
StoragePlan plan_storage(const Program&);

}  // namespace dlcc::lower
