// Backtracking search for packings, used by pack_buffers when first fit exceeds the live bound.
#pragma once

#include <cstdint>
#include <vector>

namespace dlcc::lower {

// A buffer in units of the common alignment. Its offset is a multiple of `alignment`; it is live in [lower, upper).
struct Item {
  int64_t size, alignment, lower, upper;
};

// The maximal sets of items that are live at the same time, in order of time. Item i belongs to the cliques
// [first[i], last[i]); two items conflict exactly when these ranges intersect.
struct Cliques {
  int count = 0;
  std::vector<int> first, last;
};
Cliques find_cliques(const std::vector<Item>&);

// The largest end of an item: offset plus size.
int64_t height(const std::vector<Item>&, const std::vector<int64_t>& offsets);

// Lowers the height of `offsets`, a valid packing, towards `bound`, in at most `steps` steps. A placement costs one
// step, and one more for every 16384 memberships of items in cliques, since it then takes longer. Does nothing for more
// than 2000 items.
void search_packing(const std::vector<Item>&, int64_t bound, int64_t steps, std::vector<int64_t>& offsets);

}  // namespace dlcc::lower
