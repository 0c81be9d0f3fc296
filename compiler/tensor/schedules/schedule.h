// From definition to kernels: which loops compute a tensor function on a given machine. Schedules are chosen by the
// definition's structure (tensor/analysis.h) and by how its operands are stored.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "support/constant.h"
#include "tensor/ir.h"
#include "tensor/machine.h"
#include "tensor/schedules/tuning_config.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

// What the user asks of all schedules.
struct ScheduleOptions {
  bool strict = false;  // only algorithms that round no worse than the definition
  bool small = false;   // constants keep their size
  int threads = 1;      // that share a kernel's work
};

struct ScheduleRequest {
  TensorFunction function;      // static shapes
  std::vector<bool> constant;   // per parameter: known at compile time, so that it can be stored as the schedule likes
  std::vector<Layout> layouts;  // storage of parameters, then results; ignored for constants
  std::vector<Machine> machines;  // one kernel is made for each; all share parameters, layouts and scratch
  ScheduleOptions options = {};
  TuningConfig config = {};  // in place of the deciding machine's estimates
};

struct ScheduledFunction {
  std::vector<Kernel> variants;  // one per machine: parameters, results, scratch
  // What the kernels expect in place of each parameter, given the parameter's value: packed, or transformed. To be
  // applied to constants; other parameters are stored as the request says.
  std::vector<std::function<Constant(const Constant&)>> packing;
  std::vector<std::pair<int, int>> in_place;  // (result, parameter) that may share memory
};

ScheduledFunction schedule(ScheduleRequest);

// Names a request for tuning records: a hash of the definition but for its name, of what is constant, how operands are
// stored, the deciding machine and the options. Equal on every host.
uint64_t hash_of(const ScheduleRequest&);

// The choices of one parameter each that give another kernel, or other constants, than the estimates do; of several
// that give the same, the first.
std::vector<TuningConfig> tuning_candidates(const ScheduleRequest&);

// The indices of parameter `k` that the function's schedule would like to find in its storage, inside of it or in a
// halo of zeros: one range for each dimension; empty when a halo would not help. `constant` as in ScheduleRequest;
// the machine is the deciding one.
std::vector<Range> wanted_halo(const TensorFunction&, size_t k, const std::vector<bool>& constant,
                               const ScheduleOptions&, const Machine&);

}  // namespace dlcc::tensor
