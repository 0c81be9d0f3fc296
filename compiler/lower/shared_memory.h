// Which temporaries and workspaces of a function with symbolic sizes may have memory in common: all but those that are
// disjoint for all sizes. Part of the checker of storage plans, and independent of the planner.
#pragma once

#include <string>
#include <vector>

#include "lower/plan.h"
#include "lower/program.h"

namespace dlcc::lower {

class SharedMemory {
 public:
  // `program` has its symbolic sizes; `function` is the program or one of its functions. The workspaces of calls have
  // the numbers that follow those of the values, in the order of lower/walk.h.
  SharedMemory(const Program& program, const Function& function, const FunctionPlan&,
               const std::vector<FunctionPlan>& functions);

  // What is wrong with the memory of the temporaries and workspaces that have some: it is too small for some size, not
  // inside the arena, or not aligned. Empty: nothing.
  const std::string& violation() const { return violation_; }

  // Whether two temporaries or workspaces that have memory may share some of it for some sizes.
  bool may_share(ValueId a, ValueId b) const;
  // Whether they begin at the same address for all sizes.
  bool begin_together(ValueId a, ValueId b) const;
  // A power of two that divides the offset of the temporary for all sizes.
  int64_t alignment(ValueId) const;

 private:
  // A temporary, or the workspace of a function whose arena is stacked.
  struct Place {
    std::string label;
    Dim bytes;  // an upper bound for all sizes
    int64_t alignment;
    int64_t position;  // the offset, or the block when stacked
    int function = -1;
  };
  void check(ValueId);
  void check(const Call&, int64_t position, const FunctionPlan& callee);
  void check_offset(const Place&);
  void check_block(const Place&);
  bool is_below(int low, int high) const { return below_[static_cast<size_t>(high)][static_cast<size_t>(low)]; }

  int64_t position(ValueId) const;

  const Program& program_;
  const Function& function_;
  const FunctionPlan& plan_;
  std::vector<int64_t> capacity_;         // by value id, then by call, of constant arenas: an upper bound of its bytes
  std::vector<std::vector<bool>> below_;  // by blocks: whether the second ends where the first begins, or before
  std::string violation_;
};

}  // namespace dlcc::lower
