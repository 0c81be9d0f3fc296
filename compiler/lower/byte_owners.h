// A map from bytes of memory to the value last written there: the state of the checker of storage plans.
#pragma once

#include <algorithm>
#include <map>
#include <optional>

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
    clear(at);
    if (at.begin < at.end) segments_[at.begin] = {at.end, owner};
  }

  void clear(Bytes at) {
    if (at.begin >= at.end) return;
    split(at.begin);
    split(at.end);
    segments_.erase(segments_.lower_bound(at.begin), segments_.lower_bound(at.end));
  }

  // Bytes of the range that do not belong to `owner` become undefined.
  void clear_others(Bytes at, ValueId owner) {
    if (at.begin >= at.end) return;
    split(at.begin);
    split(at.end);
    for (auto it = segments_.lower_bound(at.begin); it != segments_.lower_bound(at.end);)
      it = it->second.owner == owner ? std::next(it) : segments_.erase(it);
  }

  // The bytes of owners for which the predicate holds become undefined.
  template <class Predicate>
  void clear_owners(Predicate holds) {
    std::erase_if(segments_, [&](const auto& segment) { return holds(segment.second.owner); });
  }

  // The first byte of the range that does not belong to `owner`.
  std::optional<int64_t> find_other(Bytes at, ValueId owner) const {
    while (at.begin < at.end) {
      auto it = segments_.upper_bound(at.begin);
      if (it == segments_.begin()) return at.begin;
      --it;
      if (it->second.end <= at.begin || it->second.owner != owner) return at.begin;
      at.begin = it->second.end;
    }
    return {};
  }

  std::optional<ValueId> owner_at(int64_t byte) const {
    auto it = segments_.upper_bound(byte);
    if (it == segments_.begin() || (--it)->second.end <= byte) return {};
    return it->second.owner;
  }

  // The bytes that have the same owner in both.
  static ByteOwners intersect(const ByteOwners& a, const ByteOwners& b) {
    ByteOwners both;
    auto i = a.segments_.begin(), j = b.segments_.begin();
    while (i != a.segments_.end() && j != b.segments_.end()) {
      const Bytes common{std::max(i->first, j->first), std::min(i->second.end, j->second.end)};
      if (common.begin < common.end && i->second.owner == j->second.owner) both.append(common, i->second.owner);
      (i->second.end < j->second.end ? i : j)++;
    }
    return both;
  }

  // Equal states may divide their segments differently.
  bool operator==(const ByteOwners& o) const { return joined() == o.joined(); }

 private:
  struct Segment {
    int64_t end;
    ValueId owner;
    bool operator==(const Segment&) const = default;
  };

  void split(int64_t at) {
    auto it = segments_.lower_bound(at);
    if (it == segments_.begin()) return;
    --it;
    if (it->second.end <= at) return;
    segments_[at] = it->second;
    it->second.end = at;
  }

  void append(Bytes at, ValueId owner) {
    if (!segments_.empty() && segments_.rbegin()->second == Segment{at.begin, owner}) {
      segments_.rbegin()->second.end = at.end;
    } else {
      segments_[at.begin] = {at.end, owner};
    }
  }

  std::map<int64_t, Segment> joined() const {
    ByteOwners result;
    for (const auto& [begin, s] : segments_) result.append({begin, s.end}, s.owner);
    return result.segments_;
  }

  std::map<int64_t, Segment> segments_;
};

}  // namespace dlcc::lower
