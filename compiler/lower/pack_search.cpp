// Depth-first search for a packing of at most a given height. Items are placed in the order of their offsets, each on
// the bottom or on an item placed before it; every packing can be pushed down into this form. A subtree is pruned when
// the remaining items of a clique no longer fit into it. Most successful runs succeed early; so runs are short and
// restart in another order, in which items that caused failures come first and ties are broken at random.
//
// Canonical order, the bound by floors and the division into independent parts follow Moffitt, "MiniMalloc: A
// Lightweight Memory Allocator for Hardware-Accelerated Machine Learning" (ASPLOS 2023); the weights of failures are
// those of Boussemart et al. (ECAI 2004), restarts those of Gomes, Selman and Kautz (AAAI 1998).
#include "lower/pack_search.h"

#include <algorithm>
#include <array>
#include <functional>

#include "support/integers.h"

namespace dlcc::lower {
namespace {

// Pseudo-random numbers in [0, 1) (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
// 2014), the same on every host.
struct SplitMix {
  uint64_t state;
  double next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
};

class Search {
 public:
  explicit Search(const std::vector<Item>& items)
      : items_(items),
        n_(static_cast<int>(items.size())),
        cliques_(find_cliques(items)),
        members_(cliques_.count),
        conflicts_(items.size()),
        load_(items.size(), 0),
        weights_(items.size(), 0) {
    int64_t members = 0;
    std::vector<int64_t> sums(cliques_.count, 0);  // of sizes, by clique
    for (int i = 0; i < n_; ++i) {
      by_time_.push_back(i);
      for (int c = cliques_.first[i]; c < cliques_.last[i]; ++c, ++members) {
        members_[c].push_back(i);
        sums[c] += items_[i].size;
      }
    }
    std::ranges::stable_sort(by_time_, {}, [&](int i) { return cliques_.first[i]; });
    cost_ = 1 + members / 16384;
    for (int i = 0; i < n_; ++i) {
      for (int c = cliques_.first[i]; c < cliques_.last[i]; ++c) load_[i] = std::max(load_[i], sums[c]);
      for (int j = 0; j < n_; ++j)
        if (i != j && cliques_.first[i] < cliques_.last[j] && cliques_.first[j] < cliques_.last[i])
          conflicts_[i].push_back(j);
    }
  }

  // Searches for a packing of at most this height and subtracts the steps taken from `steps`. The first run is longer
  // than later ones, since no failures are known that could improve on its order. The failures of a run rank the items
  // of the next one; every 256 runs the failures are forgotten, since some initial orders do not lead to a packing.
  bool run(int64_t capacity, int64_t& steps) {
    constexpr int64_t first_run = 16000, later_run = 1000, runs_to_forget = 256;
    capacity_ = capacity;
    for (int64_t attempt = 0; steps > 0; ++attempt) {
      if (attempt % runs_to_forget < 2) std::ranges::fill(weights_, 0);
      rank_items(attempt);
      reset();
      const int64_t wanted = attempt == 0 ? first_run : later_run * (1 + attempt / (2 * runs_to_forget));
      const int64_t allowed = std::min(steps, wanted * cost_);
      steps_ = allowed;
      const Outcome outcome = place_all(by_time_, 0, -1);
      steps -= allowed - std::max<int64_t>(steps_, 0);
      if (outcome != Outcome::out_of_steps) return outcome == Outcome::found;
    }
    return false;
  }

  const std::vector<int64_t>& offsets() const { return offset_; }

 private:
  enum class Outcome { found, impossible, out_of_steps };

  struct Change {
    int64_t* variable;
    int64_t old;
  };

  // Sorts items by the number of failures that they caused, the load of their largest clique, their length and their
  // area. In odd attempts the load comes last.
  void rank_items(int64_t attempt) {
    constexpr double spread = 0.03;  // random numbers lengthen an item by up to this share, which breaks ties
    SplitMix random{static_cast<uint64_t>(attempt)};
    std::vector<std::array<double, 4>> keys(n_);
    for (int i = 0; i < n_; ++i) {
      const double length = static_cast<double>(items_[i].upper - items_[i].lower) * (1 + spread * random.next());
      const double area = length * static_cast<double>(items_[i].size);
      const auto load = static_cast<double>(load_[i]), weight = static_cast<double>(weights_[i]);
      if (attempt % 2 == 0)
        keys[i] = {weight, load, length, area};
      else
        keys[i] = {weight, length, area, load};
    }
    std::vector<int> sorted = by_time_;
    std::ranges::stable_sort(sorted, std::greater(), [&](int i) { return keys[i]; });
    rank_.resize(n_);
    for (int r = 0; r < n_; ++r) rank_[sorted[r]] = r;
  }

  void reset() {
    floor_.assign(n_, 0);
    offset_.assign(n_, -1);
    top_.assign(cliques_.count, 0);
    remaining_.assign(cliques_.count, 0);
    for (int i = 0; i < n_; ++i)
      for (int c = cliques_.first[i]; c < cliques_.last[i]; ++c) remaining_[c] += items_[i].size;
    trail_.clear();
  }

  // Places all items of `open`, sorted by time, after (last_offset, last_rank) in canonical order. Parts that share no
  // clique are independent: when one fails, other packings of the earlier parts need not be tried. The depth of the
  // recursion is at most the number of items, which search_packing limits.
  Outcome place_all(const std::vector<int>& open, int64_t last_offset, int last_rank) {
    for (size_t begin = 0, end = 0; begin < open.size(); begin = end) {
      int reach = cliques_.last[open[begin]];
      for (end = begin; end < open.size() && cliques_.first[open[end]] < reach; ++end)
        reach = std::max(reach, cliques_.last[open[end]]);
      const Outcome outcome = place_part({open.begin() + begin, open.begin() + end}, last_offset, last_rank);
      if (outcome != Outcome::found) return outcome;
    }
    return Outcome::found;
  }

  Outcome place_part(const std::vector<int>& part, int64_t last_offset, int last_rank) {
    for (int item : candidates(part, last_offset, last_rank)) {
      if ((steps_ -= cost_) < 0) return Outcome::out_of_steps;
      const size_t before = trail_.size();
      const int64_t at = floor_[item];
      if (place(item, part)) {
        std::vector<int> rest = part;
        std::erase(rest, item);
        const Outcome outcome = place_all(rest, at, rank_[item]);
        if (outcome != Outcome::impossible) return outcome;
      }
      undo(before);
    }
    return Outcome::impossible;
  }

  // The items that can come next in canonical order: those after the last one, and not so high that another item of the
  // part would fit below them.
  std::vector<int> candidates(const std::vector<int>& part, int64_t last_offset, int last_rank) const {
    int64_t limit = INT64_MAX;
    for (int i : part) limit = std::min(limit, std::max(floor_[i], last_offset) + items_[i].size);
    const auto position = [&](int i) { return std::pair(floor_[i], rank_[i]); };
    std::vector<int> list;
    for (int i : part)
      if (floor_[i] < limit && position(i) > std::pair(last_offset, last_rank)) list.push_back(i);
    std::ranges::sort(list, {}, position);
    return list;
  }

  void set(int64_t& variable, int64_t value) {
    trail_.push_back({&variable, variable});
    variable = value;
  }

  void undo(size_t length) {
    for (; trail_.size() > length; trail_.pop_back()) *trail_.back().variable = trail_.back().old;
  }

  // Places an item of the part on its floor. False when the rest of the part then no longer fits.
  bool place(int item, const std::vector<int>& part) {
    const int64_t at = floor_[item], top = at + items_[item].size;
    set(offset_[item], at);
    for (int c = cliques_.first[item]; c < cliques_.last[item]; ++c) {
      set(top_[c], top);
      set(remaining_[c], remaining_[c] - items_[item].size);
    }
    for (int other : conflicts_[item]) {
      if (offset_[other] >= 0 || floor_[other] >= top) continue;
      set(floor_[other], round_up(top, items_[other].alignment));
      if (floor_[other] + items_[other].size <= capacity_) continue;
      ++weights_[other];
      return false;
    }
    return cliques_fit(part, at);
  }

  // Whether, for each clique of the part, the unplaced items fit above the placed ones, above `last_offset` and above
  // their floors.
  bool cliques_fit(const std::vector<int>& part, int64_t last_offset) {
    int end = 0;
    for (int i : part) end = std::max(end, cliques_.last[i]);
    for (int c = cliques_.first[part[0]]; c < end; ++c) {
      if (remaining_[c] == 0) continue;
      const int64_t highest = capacity_ - remaining_[c];  // largest possible offset of the lowest unplaced item
      const auto can_be_lowest = [&](int i) { return offset_[i] < 0 && floor_[i] <= highest; };
      if (std::max(top_[c], last_offset) <= highest && std::ranges::any_of(members_[c], can_be_lowest)) continue;
      for (int i : members_[c])
        if (offset_[i] < 0) ++weights_[i];
      return false;
    }
    return true;
  }

  const std::vector<Item>& items_;
  const int n_;
  const Cliques cliques_;
  std::vector<std::vector<int>> members_, conflicts_;
  std::vector<int> by_time_;
  std::vector<int64_t> load_;     // by item: the largest sum of sizes of a clique that it belongs to
  std::vector<int64_t> weights_;  // by item: the number of failures that it caused
  int64_t cost_ = 1;              // of one placement, in steps

  int64_t capacity_ = 0;
  int64_t steps_ = 0;
  std::vector<int> rank_;
  std::vector<int64_t> floor_, offset_;   // by item: lowest possible offset; offset, -1 when not placed
  std::vector<int64_t> top_, remaining_;  // by clique: end of the highest placed item; sum of the unplaced sizes
  std::vector<Change> trail_;
};

}  // namespace

int64_t height(const std::vector<Item>& items, const std::vector<int64_t>& offsets) {
  int64_t top = 0;
  for (size_t i = 0; i < items.size(); ++i) top = std::max(top, offsets[i] + items[i].size);
  return top;
}

Cliques find_cliques(const std::vector<Item>& items) {
  // A live set is maximal at the last beginning before an end.
  std::vector<int64_t> begins, ends;
  for (const Item& i : items) {
    begins.push_back(i.lower);
    ends.push_back(i.upper);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::vector<int64_t> starts;  // by clique: the time at which its last item begins
  for (size_t b = 0, e = 0; b < begins.size(); ++b) {
    const bool last_of_run = b + 1 == begins.size() || [&] {
      while (e < ends.size() && ends[e] <= begins[b]) ++e;
      return ends[e] <= begins[b + 1];
    }();
    if (last_of_run) starts.push_back(begins[b]);
  }
  Cliques cliques;
  cliques.count = static_cast<int>(starts.size());
  for (const Item& i : items) {
    const auto index = [&](int64_t at) {
      return static_cast<int>(std::lower_bound(starts.begin(), starts.end(), at) - starts.begin());
    };
    cliques.first.push_back(index(i.lower));
    cliques.last.push_back(index(i.upper));
  }
  return cliques;
}

void search_packing(const std::vector<Item>& items, int64_t bound, int64_t steps, std::vector<int64_t>& offsets) {
  constexpr size_t most_items = 2000;  // memory and recursion grow with the number of items
  if (items.size() > most_items) return;
  int64_t best = height(items, offsets);
  Search search(items);
  const auto attempt = [&](int64_t capacity, int64_t share) {
    int64_t left = share;
    const bool found = search.run(capacity, left);
    steps -= share - left;
    if (found) offsets = search.offsets();
    if (found) best = height(items, offsets);
    return found;
  };
  // Three quarters of the steps search for a packing at the bound; the rest close the gap to it by quarters.
  if (attempt(bound, steps - steps / 4)) return;
  while (steps > 0 && best > bound && attempt(best - std::max<int64_t>(1, (best - bound) / 4), steps / 2 + 1)) {
  }
}

}  // namespace dlcc::lower
