// Buffers are rectangles with a fixed horizontal extent (time); each gets a vertical position (offset) such that the
// total height is small. First fit in several orders reaches the live bound for most networks. For the others, the
// backtracking search of pack_search.cpp follows, bounded by a number of steps.
#include "lower/pack_buffers.h"

#include <algorithm>
#include <numeric>

#include "lower/pack_search.h"
#include "support/integers.h"

namespace dlcc::lower {
namespace {

// The buffers of positive size and lifetime, in units of their common alignment.
struct Problem {
  int64_t unit = 1;         // bytes
  std::vector<size_t> ids;  // by item: the index of its buffer
  std::vector<Item> items;
};

Problem make_problem(const std::vector<LiveBuffer>& buffers) {
  Problem p;
  p.unit = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size <= 0 || buffers[i].lower >= buffers[i].upper) continue;
    p.ids.push_back(i);
    p.unit = std::gcd(p.unit, buffers[i].alignment);
  }
  if (p.unit == 0) p.unit = 1;
  for (size_t i : p.ids) {
    const LiveBuffer& b = buffers[i];
    p.items.push_back({round_up(b.size, p.unit) / p.unit, b.alignment / p.unit, b.lower, b.upper});
  }
  return p;
}

// A buffer that first fit has placed at [offset, top).
struct Placed {
  int64_t offset, top, lower, upper;
};

// Gives each item, in this order, the lowest offset at which it overlaps no item placed before it.
std::vector<int64_t> first_fit(const std::vector<Item>& items, const std::vector<int>& order) {
  std::vector<int64_t> offsets(items.size());
  std::vector<Placed> placed;  // sorted by offset
  placed.reserve(items.size());
  for (int id : order) {
    const Item& item = items[id];
    int64_t at = 0;
    for (const Placed& p : placed) {
      if (p.offset >= at + item.size) break;  // this item and all after it begin above the gap at `at`
      if (p.lower < item.upper && item.lower < p.upper && p.top > at) at = round_up(p.top, item.alignment);
    }
    offsets[id] = at;
    const Placed self{at, at + item.size, item.lower, item.upper};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), self,
                                   [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
                  self);
  }
  return offsets;
}

template <class Key>
std::vector<int> order_by(const std::vector<Item>& items, Key key) {
  std::vector<int> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(items[a]) > key(items[b]); });
  return order;
}

// The lowest packing of first fit in several orders; later orders are not tried when one reaches the bound.
std::vector<int64_t> pack_greedily(const std::vector<Item>& items, int64_t bound) {
  using Pair = std::pair<int64_t, int64_t>;
  std::vector<int64_t> best;
  int64_t best_height = INT64_MAX;
  const auto attempt = [&](auto key) {
    if (best_height == bound) return;
    std::vector<int64_t> offsets = first_fit(items, order_by(items, key));
    if (const int64_t h = height(items, offsets); h < best_height) best = std::move(offsets), best_height = h;
  };
  attempt([](const Item& i) { return Pair{i.size, i.upper - i.lower}; });
  attempt([](const Item& i) { return Pair{i.upper - i.lower, i.size}; });
  attempt([](const Item& i) { return static_cast<double>(i.size) * static_cast<double>(i.upper - i.lower); });
  attempt([](const Item& i) { return Pair{-i.lower, i.size}; });
  attempt([](const Item& i) { return Pair{i.upper, i.size}; });
  // Buffers of the largest cliques first: they have the least freedom.
  const Cliques cliques = find_cliques(items);
  std::vector<int64_t> sums(cliques.count, 0), load(items.size(), 0);  // by clique; by item, its largest clique's
  for (size_t i = 0; i < items.size(); ++i)
    for (int c = cliques.first[i]; c < cliques.last[i]; ++c) sums[c] += items[i].size;
  for (size_t i = 0; i < items.size(); ++i)
    for (int c = cliques.first[i]; c < cliques.last[i]; ++c) load[i] = std::max(load[i], sums[c]);
  const Item* base = items.data();
  attempt([&](const Item& i) { return Pair{load[&i - base], i.size}; });
  attempt([&](const Item& i) { return Pair{load[&i - base], i.upper - i.lower}; });
  return best;
}

}  // namespace

int64_t live_bound(const std::vector<LiveBuffer>& buffers) {
  const Problem p = make_problem(buffers);
  // All but the topmost buffer of a live set occupy whole units. At equal times, ends sort before beginnings.
  struct Event {
    int64_t at;
    bool begins;
    size_t item;
  };
  std::vector<Event> events;
  for (size_t i = 0; i < p.items.size(); ++i) {
    events.push_back({p.items[i].lower, true, i});
    events.push_back({p.items[i].upper, false, i});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::pair(a.at, a.begins) < std::pair(b.at, b.begins);
  });
  const auto slack = [&](size_t i) { return p.items[i].size * p.unit - buffers[p.ids[i]].size; };
  std::vector<int64_t> live_with_slack(static_cast<size_t>(p.unit), 0);
  int64_t live = 0, bound = 0;
  for (const Event& e : events) {
    live += (e.begins ? 1 : -1) * p.items[e.item].size * p.unit;
    live_with_slack[slack(e.item)] += e.begins ? 1 : -1;
    if (!e.begins) continue;
    int64_t saved = p.unit - 1;
    while (live_with_slack[saved] == 0) --saved;
    bound = std::max(bound, live - saved);
  }
  return bound;
}

Packing pack_buffers(const std::vector<LiveBuffer>& buffers, int64_t steps_per_buffer) {
  const Problem p = make_problem(buffers);
  Packing packing;
  packing.offsets.assign(buffers.size(), 0);
  if (p.items.empty()) return packing;

  const int64_t bound = round_up(live_bound(buffers), p.unit) / p.unit;
  std::vector<int64_t> offsets = pack_greedily(p.items, bound);
  const int64_t steps = steps_per_buffer * static_cast<int64_t>(p.items.size());
  if (height(p.items, offsets) > bound) search_packing(p.items, bound, steps, offsets);

  for (size_t i = 0; i < p.items.size(); ++i) {
    const int64_t offset = offsets[i] * p.unit;
    packing.offsets[p.ids[i]] = offset;
    packing.bytes = std::max(packing.bytes, offset + buffers[p.ids[i]].size);
  }
  return packing;
}

}  // namespace dlcc::lower
