// The positions of a function's steps in time, and the live range of every value.
//
// Steps are numbered in the order of the text, so that the arms of a branch have disjoint positions; a loop has an
// additional position before its test and one after its body. A value is live from its first to its last occurrence; a
// value that occurs both inside and outside of a loop is live during all of the loop. An occurrence of a view is one of
// its base.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

// The positions [first, last]; empty for a value without uses.
struct LiveRange {
  int64_t first = -1, last = -1;

  bool empty() const { return first < 0; }
  void add(int64_t at);
};

struct Timeline {
  std::vector<LiveRange> ranges;                         // by value; empty for views
  std::vector<int64_t> positions;                        // of kernel calls and copies, in the order of lower/walk.h
  std::vector<std::pair<int64_t, const Invoke*>> calls;  // in order of position
  std::vector<std::pair<int64_t, const Call*>> function_calls;  // in order of position
  std::vector<LiveRange> loops;                                 // positions of the loops, inner loops first
  int64_t length = 0;                                           // number of positions
};
Timeline timeline_of(const Function&);  // of the function's own steps; refers to its calls

}  // namespace dlcc::lower
