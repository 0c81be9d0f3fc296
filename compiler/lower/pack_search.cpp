// Depth-first search for a packing below a given height. Items are placed in the order of their offsets, each resting
// on the floor or on an item placed before it; every packing can be pushed down into this form. A branch ends when some
// clique cannot hold what is left of it. Runs restart with other orders, some with items that caused failures first.
//
// Canonical order, the bound by floors and the split into independent parts follow Moffitt, "MiniMalloc: A Lightweight
// Memory Allocator for Hardware-Accelerated Machine Learning" (ASPLOS 2023); the weights of failures are those of
// Boussemart et al. (ECAI 2004).
#include "lower/pack_search.h"

#include <algorithm>
#include <array>
#include <functional>

namespace dlcc::lower {
namespace {

int64_t round_up(int64_t x, int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }

class Search {
 public:
  explicit Search(const std::vector<Item>& items)
      : items_(items),
        n_(static_cast<int>(items.size())),
        cliques_(find_cliques(items)),
        members_(cliques_.count),
        conflicts_(items.size()),
        crowd_(items.size(), 0),
        weights_(items.size(), 0) {
    int64_t members = 0;
    std::vector<int64_t> load(cliques_.count, 0);
    for (int i = 0; i < n_; ++i) {
      by_time_.push_back(i);
      for (int c = cliques_.first[i]; c < cliques_.last[i]; ++c, ++members) {
        members_[c].push_back(i);
        load[c] += items_[i].size;
      }
    }
    std::ranges::stable_sort(by_time_, {}, [&](int i) { return cliques_.first[i]; });
    cost_ = 1 + members / 16384;
    for (int i = 0; i < n_; ++i) {
      for (int c = cliques_.first[i]; c < cliques_.last[i]; ++c) crowd_[i] = std::max(crowd_[i], load[c]);
      for (int j = 0; j < n_; ++j)
        if (i != j && cliques_.first[i] < cliques_.last[j] && cliques_.first[j] < cliques_.last[i])
          conflicts_[i].push_back(j);
    }
  }

  // Looks for a packing of at most this height, with the first so many of the orders of `key`; takes what it uses from
  // `steps`. Each round tries every order with and without the weights of failures, and each has twice the steps.
  bool run(int64_t capacity, int orders, int64_t& steps) {
    capacity_ = capacity;
    int64_t run_steps = 4 * n_ * cost_;
    for (int attempt = 0; steps > 0; ++attempt) {
      rank_items(attempt / 2 % orders, attempt % 2 == 1);
      reset();
      const int64_t allowed = std::min(steps, run_steps);
      steps_ = allowed;
      const Outcome outcome = place_all(by_time_, 0, -1);
      steps -= allowed - std::max<int64_t>(steps_, 0);
      if (outcome == Outcome::found) return true;
      if (outcome == Outcome::impossible) return false;
      if (attempt % (2 * orders) == 2 * orders - 1) run_steps *= 2;
    }
    return false;
  }

  const std::vector<int64_t>& offsets() const { return offset_; }

 private:
  enum class Outcome { found, impossible, out_of_steps };

  struct Change {
    int64_t* place;
    int64_t old;
  };

  // What ranks an item before others: the most crowded moment it lives through, its area, its length.
  std::array<int64_t, 3> key(int order, int i) const {
    const int64_t length = items_[i].upper - items_[i].lower, area = length * items_[i].size;
    switch (order) {
      case 0:
        return {crowd_[i], area, length};
      case 1:
        return {crowd_[i], length, area};
      default:
        return {length, area, crowd_[i]};
    }
  }

  void rank_items(int order, bool weighted) {
    std::vector<int> sorted = by_time_;
    std::ranges::stable_sort(sorted, std::greater(),
                             [&](int i) { return std::pair(weighted ? weights_[i] : 0, key(order, i)); });
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

  // Places all of `open`, sorted by time, none of them before (last_offset, last_rank) in canonical order. Parts that
  // share no clique are independent: when one fails, other packings of the parts before it need no trial. The recursion
  // is as deep as there are items, which search_packing limits.
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

  // Items that can come next in canonical order: not below the last one, and not so high that another item would fit
  // underneath.
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

  void set(int64_t& place, int64_t value) {
    trail_.push_back({&place, place});
    place = value;
  }

  void undo(size_t length) {
    for (; trail_.size() > length; trail_.pop_back()) *trail_.back().place = trail_.back().old;
  }

  // Puts an item of the part on its floor. False when the rest of the part then no longer fits.
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

  // Nothing of the part will be placed below `last_offset`, nor in a clique below the floors of its own items.
  bool cliques_fit(const std::vector<int>& part, int64_t last_offset) {
    int end = 0;
    for (int i : part) end = std::max(end, cliques_.last[i]);
    for (int c = cliques_.first[part[0]]; c < end; ++c) {
      if (remaining_[c] == 0) continue;
      int64_t lowest = INT64_MAX;
      for (int i : members_[c])
        if (offset_[i] < 0) lowest = std::min(lowest, floor_[i]);
      if (std::max({top_[c], last_offset, lowest}) + remaining_[c] <= capacity_) continue;
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
  std::vector<int64_t> crowd_;    // by item: the largest sum of sizes of a clique it belongs to
  std::vector<int64_t> weights_;  // by item: how often it was in the way
  int64_t cost_ = 1;  // of one placement, in steps: so that a large problem takes no longer than a small one

  int64_t capacity_ = 0;
  int64_t steps_ = 0;
  std::vector<int> rank_;
  std::vector<int64_t> floor_, offset_;   // by item; an offset of -1 means not placed
  std::vector<int64_t> top_, remaining_;  // by clique: height reached, sum of sizes not yet placed
  std::vector<Change> trail_;
};

}  // namespace

int64_t height(const std::vector<Item>& items, const std::vector<int64_t>& offsets) {
  int64_t top = 0;
  for (size_t i = 0; i < items.size(); ++i) top = std::max(top, offsets[i] + items[i].size);
  return top;
}

Cliques find_cliques(const std::vector<Item>& items) {
  // A live set is maximal where an end follows a beginning: count such places up to each position.
  std::vector<int64_t> begins, ends;
  for (const Item& i : items) {
    begins.push_back(i.lower);
    ends.push_back(i.upper);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::vector<int64_t> starts;  // by clique: the beginning of its last item
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
  constexpr size_t most_items = 2000;  // conflicts are held as lists
  if (items.size() > most_items) return;
  int64_t best = height(items, offsets);
  Search search(items);
  // A height nobody can beat is worth half of the steps; then the gap is closed by quarters.
  const auto attempt = [&](int64_t capacity, int orders) {
    int64_t left = steps / 2 + 1;
    steps -= left;
    const bool found = search.run(capacity, orders, left);
    steps += left;
    if (found) offsets = search.offsets();
    if (found) best = height(items, offsets);
    return found;
  };
  if (attempt(bound, 2)) return;
  while (steps > 0 && best > bound && attempt(best - std::max<int64_t>(1, (best - bound) / 4), 3)) {
  }
}

}  // namespace dlcc::lower
