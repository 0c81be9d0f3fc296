// A map from bytes of memory to the value last written there: the state of the checker of storage plans.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

struct Bytes {
  int64_t begin, end;

  bool overlaps(const Bytes& o) const { return begin < o.end && o.begin < end; }
  bool operator==(const Bytes&) const = default;
};

// The value last written to each byte. The contents of bytes in no segment are undefined.
class ByteOwners {
 public:
  void write(Bytes at, ValueId owner) {
    if (at.begin >= at.end) return;
    // Joins the range with neighbours of the same owner.
    auto before = std::ranges::lower_bound(segments_, at.begin, {}, &Segment::end);
    if (before != segments_.end() && before->owner == owner) at.begin = std::min(at.begin, before->begin);
    auto behind = std::ranges::upper_bound(segments_, at.end, {}, &Segment::begin);
    if (behind != segments_.begin() && (--behind)->owner == owner) at.end = std::max(at.end, behind->end);
    replace(at, Segment{at.begin, at.end, owner});
  }

  void clear(Bytes at) {
    if (at.begin < at.end) replace(at, {});
  }

  // Bytes of the range that do not belong to `owner` become undefined.
  void clear_others(Bytes at, ValueId owner) {
    while (at.begin < at.end) {
      auto it = after(at.begin);
      if (it == segments_.end() || it->begin >= at.end) return;
      const Bytes segment{std::max(it->begin, at.begin), std::min(it->end, at.end)};
      if (it->owner != owner) clear(segment);
      at.begin = segment.end;
    }
  }

  // The bytes of owners for which the predicate holds become undefined.
  template <class Predicate>
  void clear_owners(Predicate holds) {
    std::erase_if(segments_, [&](const Segment& s) { return holds(s.owner); });
  }

  // The first byte of the range that does not belong to `owner`.
  std::optional<int64_t> find_other(Bytes at, ValueId owner) const {
    if (at.begin >= at.end) return {};
    auto it = after(at.begin);
    if (it == segments_.end() || it->begin > at.begin || it->owner != owner) return at.begin;
    if (it->end < at.end) return it->end;
    return {};
  }

  std::optional<ValueId> owner_at(int64_t byte) const {
    auto it = after(byte);
    if (it == segments_.end() || it->begin > byte) return {};
    return it->owner;
  }

  // The bytes that have the same owner in both.
  static ByteOwners intersect(const ByteOwners& a, const ByteOwners& b) {
    ByteOwners both;
    auto i = a.segments_.begin(), j = b.segments_.begin();
    while (i != a.segments_.end() && j != b.segments_.end()) {
      const Segment common{std::max(i->begin, j->begin), std::min(i->end, j->end), i->owner};
      if (common.begin < common.end && i->owner == j->owner) both.segments_.push_back(common);
      (i->end < j->end ? i : j)++;
    }
    return both;
  }

  bool operator==(const ByteOwners&) const = default;

 private:
  struct Segment {
    int64_t begin, end;
    ValueId owner;
    bool operator==(const Segment&) const = default;
  };

  // The first segment that ends after the byte.
  std::vector<Segment>::const_iterator after(int64_t byte) const {
    return std::ranges::upper_bound(segments_, byte, {}, &Segment::end);
  }

  // Replaces what the segments say about the range, which is not empty.
  void replace(Bytes at, std::optional<Segment> by) {
    const auto first = segments_.begin() + (after(at.begin) - segments_.cbegin());
    const auto last =
        std::lower_bound(first, segments_.end(), at.end, [](const Segment& s, int64_t end) { return s.begin < end; });
    std::array<Segment, 3> pieces;
    size_t count = 0;
    if (first != last && first->begin < at.begin) pieces[count++] = {first->begin, at.begin, first->owner};
    if (by) pieces[count++] = *by;
    if (first != last && std::prev(last)->end > at.end)
      pieces[count++] = {at.end, std::prev(last)->end, std::prev(last)->owner};
    const auto kept = std::min<std::ptrdiff_t>(last - first, static_cast<std::ptrdiff_t>(count));
    std::copy_n(pieces.begin(), kept, first);
    if (kept < last - first)
      segments_.erase(first + kept, last);
    else
      segments_.insert(first + kept, pieces.begin() + kept, pieces.begin() + count);
  }

  // In the order of their bytes. Neighbours without a gap have different owners, so that equal states have equal
  // segments.
  std::vector<Segment> segments_;
};

}  // namespace dlcc::lower
