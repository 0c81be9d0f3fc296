// Backtracking search for packings, used by pack_buffers when greedy orders miss the live bound.
#pragma once

#include <cstdint>
#include <vector>

namespace dlcc::lower {

// A buffer in units of the common alignment: its offset is a multiple of `alignment`, it is alive in [lower, upper).
struct Item {
  int64_t size, alignment, lower, upper;
};

// The maximal sets of items alive together, in order of time. Item i belongs to the cliques [first[i], last[i]); two
// items conflict exactly when these ranges meet.
struct Cliques {
  int count = 0;
  std::vector<int> first, last;
};
Cliques find_cliques(const std::vector<Item>&);

// The end of the highest item.
int64_t height(const std::vector<Item>&, const std::vector<int64_t>& offsets);

// Lowers the height of `offsets`, a valid packing, towards `bound` while `steps` last: one for each placement tried,
// more when there are so many items that a placement takes long. Does nothing for more than 2000 items.
void search_packing(const std::vector<Item>&, int64_t bound, int64_t steps, std::vector<int64_t>& offsets);

}  // namespace dlcc::lower
