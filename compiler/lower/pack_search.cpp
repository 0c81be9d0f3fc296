// Depth-first search for a packing below a given height. Items are placed in the order of their offsets, each resting
// on the floor or on an item placed before it; every packing can be pushed down into this form. A branch ends when some
// clique cannot hold what is left of it. Runs restart with items that caused failures ranked first.
//
// The formulation by time sections and canonical order follows Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
// Hardware-Accelerated Machine Learning" (ASPLOS 2023); the failure weights are those of Boussemart et al. (ECAI 2004).
#include "lower/pack_search.h"

#include <algorithm>
#include <numeric>

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
        weights_(items.size(), 0) {
    int64_t members = 0;
    for (int i = 0; i < n_; ++i)
      for (int c = cliques_.first[i]; c < cliques_.last[i]; ++c, ++members) members_[c].push_back(i);
    cost_ = 1 + members / 16384;
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j)
        if (i != j && cliques_.first[i] < cliques_.last[j] && cliques_.first[j] < cliques_.last[i])
          conflicts_[i].push_back(j);
  }

  // Looks for a packing of at most this height; takes what it uses from `steps`.
  bool run(int64_t capacity, int64_t& steps) {
    capacity_ = capacity;
    int64_t run_steps = 4 * n_ * cost_;
    for (int attempt = 0; steps > 0; ++attempt) {
      rank_items(attempt);
      const int64_t allowed = std::min(steps, run_steps);
      int64_t left = allowed;
      const Outcome outcome = descend(left);
      steps -= allowed - std::max<int64_t>(left, 0);
      if (outcome == Outcome::found) return true;
      if (outcome == Outcome::impossible) return false;
      run_steps += run_steps / 4;
    }
    return false;
  }

  const std::vector<int64_t>& offsets() const { return offset_; }

 private:
  enum class Outcome { found, impossible, out_of_steps };

  // A placement under trial: the items that may come next, and what to restore when all of them failed.
  struct Frame {
    std::vector<int> candidates;
    size_t next = 0;
    size_t trail = 0;  // length of trail_ before the current candidate was placed
    int64_t last_offset = 0;
    int last_rank = -1;
  };
  struct Change {
    int64_t* place;
    int64_t old;
  };

  // A different basic order each time, then by how often an item was in the way.
  void rank_items(int attempt) {
    std::vector<int> order(n_);
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](int i) {
      const int64_t width = cliques_.last[i] - cliques_.first[i];
      switch (attempt % 3) {
        case 0:
          return width * items_[i].size;
        case 1:
          return items_[i].size;
        default:
          return width;
      }
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return std::pair(weights_[a], key(a)) > std::pair(weights_[b], key(b)); });
    rank_.resize(n_);
    for (int r = 0; r < n_; ++r) rank_[order[r]] = r;
  }

  void reset() {
    floor_.assign(n_, 0);
    offset_.assign(n_, -1);
    top_.assign(cliques_.count, 0);
    remaining_.assign(cliques_.count, 0);
    for (int i = 0; i < n_; ++i)
      for (int c = cliques_.first[i]; c < cliques_.last[i]; ++c) remaining_[c] += items_[i].size;
    trail_.clear();
    placed_ = 0;
  }

  Outcome descend(int64_t& steps) {
    reset();
    std::vector<Frame> frames(1);
    frames[0].candidates = candidates(0, -1);
    std::vector<int> chosen;
    while (true) {
      Frame& f = frames.back();
      if (f.next == f.candidates.size()) {  // all failed
        if (frames.size() == 1) return Outcome::impossible;
        frames.pop_back();
        undo(frames.back().trail, chosen.back());
        chosen.pop_back();
        continue;
      }
      if ((steps -= cost_) < 0) return Outcome::out_of_steps;
      const int item = f.candidates[f.next++];
      f.trail = trail_.size();
      const int64_t at = floor_[item];
      if (!place(item)) {
        undo(f.trail, item);
        continue;
      }
      if (placed_ == n_) return Outcome::found;
      chosen.push_back(item);
      Frame next;
      next.last_offset = at;
      next.last_rank = rank_[item];
      next.candidates = candidates(at, rank_[item]);
      frames.push_back(std::move(next));
    }
  }

  // Items that can come next in canonical order: not below the last one, and not so high that another item would fit
  // underneath.
  std::vector<int> candidates(int64_t last_offset, int last_rank) {
    int64_t limit = INT64_MAX;
    for (int i = 0; i < n_; ++i)
      if (offset_[i] < 0) limit = std::min(limit, std::max(floor_[i], last_offset) + items_[i].size);
    std::vector<int> list;
    for (int i = 0; i < n_; ++i)
      if (offset_[i] < 0 && floor_[i] < limit && std::pair(floor_[i], rank_[i]) > std::pair(last_offset, last_rank))
        list.push_back(i);
    std::sort(list.begin(), list.end(),
              [&](int a, int b) { return std::pair(floor_[a], rank_[a]) < std::pair(floor_[b], rank_[b]); });
    return list;
  }

  void set(int64_t& place, int64_t value) {
    trail_.push_back({&place, place});
    place = value;
  }

  void undo(size_t length, int item) {
    while (trail_.size() > length) {
      *trail_.back().place = trail_.back().old;
      trail_.pop_back();
    }
    offset_[item] = -1;
    --placed_;
  }

  // Puts the item on its floor. False when the rest then no longer fits.
  bool place(int item) {
    const int64_t at = floor_[item], top = at + items_[item].size;
    offset_[item] = at;
    ++placed_;
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
    return cliques_fit(at);
  }

  // No item will be placed below `last_offset`, nor in a clique below the floors of its own items.
  bool cliques_fit(int64_t last_offset) {
    for (int c = 0; c < cliques_.count; ++c) {
      if (remaining_[c] == 0) continue;
      int64_t base = std::max(top_[c], last_offset);
      if (base + remaining_[c] <= capacity_) {
        int64_t lowest = INT64_MAX;
        for (int i : members_[c])
          if (offset_[i] < 0) lowest = std::min(lowest, floor_[i]);
        base = std::max(base, lowest);
      }
      if (base + remaining_[c] <= capacity_) continue;
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
  std::vector<int64_t> weights_;
  int64_t capacity_ = 0;
  int64_t cost_ = 1;  // of one placement, in steps: so that a large problem takes no longer than a small one
  int placed_ = 0;
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
  constexpr size_t most_items = 4000;  // conflicts are held as lists
  if (items.size() > most_items) return;
  int64_t best = height(items, offsets);
  Search search(items);
  const auto attempt = [&](int64_t capacity, int64_t allowed) {
    const int64_t before = allowed;
    if (search.run(capacity, allowed)) {
      offsets = search.offsets();
      best = height(items, offsets);
    }
    steps -= before - allowed;
  };
  attempt(bound, steps / 2);
  while (steps > 0 && best > bound) {
    const int64_t reached = best;
    attempt(best - std::max<int64_t>(1, (best - bound) / 4), steps / 2 + 1);
    if (best == reached) break;
  }
}

}  // namespace dlcc::lower
