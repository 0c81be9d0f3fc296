// From definition to kernels: which loops compute a tensor function on a given machine. Schedules are chosen by the
// definition's structure (tensor/analysis.h) and by how its operands are stored.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tensor/ir.h"
#include "tensor/machine.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

struct ScheduleRequest {
  TensorFunction function;      // static shapes
  std::vector<bool> constant;   // per parameter: known at compile time, so that it can be stored as the schedule likes
  std::vector<Layout> layouts;  // storage of parameters, then results; ignored for constants
  std::vector<Machine> machines;  // one kernel is made for each; all share parameters, layouts and scratch
};

struct ScheduledFunction {
  std::vector<Kernel> variants;  // one per machine: parameters, results, scratch
  // How each parameter's elements must lie in memory: for constants as the schedule chose, over `shapes`.
  std::vector<Layout> param_layouts;
  std::vector<std::vector<int64_t>> param_shapes;  // logical shapes that the layouts refer to (joined axes)
  std::vector<std::pair<int, int>> in_place;       // (result, parameter) that may share memory
};

ScheduledFunction schedule(ScheduleRequest);

// The indices of parameter `k` that the function's schedule would like to find in its storage, inside of it or in a
// border of zeros: one range for each dimension; empty when a border would not help.
std::vector<Range> wanted_border(const TensorFunction&, size_t k);

}  // namespace dlcc::tensor
