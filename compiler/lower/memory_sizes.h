// The sizes in memory of the values of a function, for which its arena is planned.
#pragma once

#include <vector>

#include "lower/largest_size.h"
#include "lower/program.h"
#include "shape/facts.h"

namespace dlcc::lower {

// A size such as h - 5 may be negative, and the product of two such sizes positive. No step uses a value with a
// negative size: the program, or an arm of a branch, checks the size before. So a value takes memory only for sizes at
// which its uses are reached: a reshaped (h - 5) * (w - 5) has no memory at h = 1, w = 1.
class MemorySizes {
 public:
  // The function must outlive this object, and its values must not change.
  MemorySizes(const Program&, const Function&);

  // The shape of the value, where sizes that may be negative count as 0 unless the checks before its uses succeed.
  Shape shape(ValueId) const;
  // An upper bound of the value's bytes, over the symbols that the caller gives.
  Dim bytes(ValueId) const;

 private:
  bool may_be_negative(const Dim&) const;

  const Function& function_;
  LargestSizes largest_;
  Facts checked_;  // the sizes that the program checks before the run
  // By value: sizes that the function checks before each use of the value, and that may be negative.
  std::vector<std::vector<Dim>> checked_before_uses_;
};

// Whether a run of the program may reach steps where one of the sizes is negative.
bool may_be_negative(const Program&, const Shape&);

}  // namespace dlcc::lower
