// The arena over time: which buffer is where, and when. The data of the report's drawing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lower/live_ranges.h"
#include "lower/plan.h"

namespace dlcc::driver {

struct ArenaBuffer {
  lower::ValueId value = -1;  // -1: the workspace of a function
  std::string name;  // the value's; of scratch, the buffer's name in the kernel; of a workspace, the function's
  DType type = dtype::u8;
  Shape shape;  // as stored
  int64_t bytes = 0;
  bool scratch = false;  // used within one step only
  int64_t offset = 0;    // bytes
  lower::LiveRange live;
  // The buffer whose storage this one takes over at its first position, where the other is read for the last time; -1
  // for other buffers. Index into ArenaMap::buffers.
  int in_place_of = -1;
};

struct ArenaMap {
  std::vector<ArenaBuffer> buffers;  // in the order of values, then workspaces
  int64_t positions = 0;             // of the program's steps (lower/live_ranges.h)
  int64_t peak_position = 0;         // the first at which the most bytes are live
  int64_t peak_bytes = 0;            // live there
};

ArenaMap arena_map(const lower::Program&, const lower::StoragePlan&);

}  // namespace dlcc::driver
