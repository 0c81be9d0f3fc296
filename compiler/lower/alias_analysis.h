// Alias analysis of a storage plan with symbolic sizes: two temporaries or workspaces of a function may alias unless
// their memory is disjoint for all sizes. Part of the checker of storage plans, and independent of the planner.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lower/memory_sizes.h"
#include "lower/plan.h"
#include "lower/program.h"

namespace dlcc::lower {

class AliasAnalysis {
 public:
  // `program` has its symbolic sizes; `function` is the program or one of its functions. The workspaces of calls are
  // numbered after the values, in the order of lower/walk.h.
  AliasAnalysis(const Program& program, const Function& function, const FunctionPlan&,
                const std::vector<FunctionPlan>& functions);

  // The first violation by a temporary or workspace with memory: the memory is too small for some size, not inside the
  // arena, or not aligned. Empty if there is none.
  const std::string& violation() const { return violation_; }

  // Whether the memory of two temporaries or workspaces may overlap for some sizes.
  bool may_alias(ValueId a, ValueId b) const;
  // Whether both begin at the same address for all sizes.
  bool begin_together(ValueId a, ValueId b) const;
  // A power of two that divides the offset of the temporary for all sizes.
  int64_t alignment(ValueId) const;
  // The bytes of memory that the plan gives to the temporary at these values of all symbols; empty if a size that is
  // checked before all uses of the temporary is negative there.
  std::optional<int64_t> memory_at(ValueId, const std::map<std::string, int64_t>& sizes) const;

 private:
  // The memory of a temporary or of a workspace.
  struct Allocation {
    std::string label;
    MemorySize size;
    int64_t alignment;
    int64_t position;  // the offset, or the block when stacked
    int function = -1;
  };
  void check(ValueId);
  void check(const Call&, int64_t position, const FunctionPlan& callee);
  void check_offset(const Allocation&);
  void check_block(const Allocation&);
  bool is_below(int low, int high) const { return below_[static_cast<size_t>(high)][static_cast<size_t>(low)]; }

  int64_t position(ValueId) const;

  const Program& program_;
  const Function& function_;
  const FunctionPlan& plan_;
  MemorySizes sizes_;
  std::vector<MemorySize> memory_;        // by value id
  std::vector<int64_t> capacity_;         // by value id, then by call, of constant arenas: an upper bound of its bytes
  std::vector<std::vector<bool>> below_;  // [high][low], blocks: whether `low` ends where `high` begins, or before
  std::string violation_;
};

}  // namespace dlcc::lower
