// Which temporaries of a program with symbolic sizes may have memory in common: all but those that are disjoint for all
// sizes. Part of the checker of storage plans, and independent of the planner.
#pragma once

#include <string>
#include <vector>

#include "lower/plan.h"
#include "lower/program.h"

namespace dlcc::lower {

class SharedMemory {
 public:
  // `program` has its symbolic sizes.
  SharedMemory(const Program& program, const StoragePlan&);

  // What is wrong with the memory of the temporaries that have some: it is too small for some size, not inside the
  // arena, or not aligned. Empty: nothing.
  const std::string& violation() const { return violation_; }

  // Whether two temporaries that have memory may share some of it for some sizes.
  bool may_share(ValueId a, ValueId b) const;
  // Whether they begin at the same address for all sizes.
  bool begin_together(ValueId a, ValueId b) const;
  // A power of two that divides the offset of the temporary for all sizes.
  int64_t alignment(ValueId) const;

 private:
  void check(ValueId);
  bool is_below(int low, int high) const { return below_[static_cast<size_t>(high)][static_cast<size_t>(low)]; }

  const Program& program_;
  const StoragePlan& plan_;
  std::vector<int64_t> capacity_;         // by value id, of constant arenas: an upper bound of its bytes
  std::vector<std::vector<bool>> below_;  // by blocks: whether the second ends where the first begins, or before
  std::string violation_;
};

}  // namespace dlcc::lower
