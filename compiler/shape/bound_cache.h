// Lower bounds of dims that were searched for before. Schedules, layouts and code generation ask the same few hundred
// questions up to millions of times. Internal to compiler/shape.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "shape/dim.h"

namespace dlcc {

class BoundCache {
 public:
  // The result of search() for this dim and `sufficient`, which must decide it. Dims with the same names of symbols but
  // other bounds are different questions.
  template <class Search>
  int64_t find_or(const Dim& d, int64_t sufficient, const Search& search) {
    std::string question = key_of(d, sufficient);
    if (const auto known = bounds_.find(question); known != bounds_.end()) return known->second;
    const int64_t bound = search();  // may ask, too
    if (bounds_.size() == capacity) bounds_.clear();
    bounds_.emplace(std::move(question), bound);
    return bound;
  }

 private:
  static constexpr size_t capacity = 1 << 14;

  static std::string key_of(const Dim&, int64_t sufficient);

  std::unordered_map<std::string, int64_t> bounds_;
};

}  // namespace dlcc
