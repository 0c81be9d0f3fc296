// The packing problem of storage planning, known as offline dynamic storage allocation: buffers with known live
// intervals get offsets in one arena. This file knows nothing of programs.
#pragma once

#include <cstdint>
#include <vector>

namespace dlcc::lower {

// A buffer that is live in the half-open interval [lower, upper) of time. Sizes, alignments and offsets are in bytes.
struct LiveBuffer {
  int64_t size, lower, upper;
  int64_t alignment = 1;
};

struct Packing {
  std::vector<int64_t> offsets;  // by buffer; 0 for buffers of size 0 or with an empty interval
  int64_t bytes = 0;             // the end of the highest buffer
};

// A lower bound of every packing: the largest sum of the sizes of simultaneously live buffers, sizes rounded up to the
// common alignment for all but the topmost buffer.
int64_t live_bound(const std::vector<LiveBuffer>&);

// Gives each buffer an offset that is a multiple of its alignment; buffers whose intervals intersect do not overlap.
// Tries first fit in several orders; if the best packing exceeds the live bound, a search follows, of at most
// `steps_per_buffer` steps for each buffer (a million steps take two to four seconds). Deterministic.
Packing pack_buffers(const std::vector<LiveBuffer>&, int64_t steps_per_buffer = 8000);

}  // namespace dlcc::lower
