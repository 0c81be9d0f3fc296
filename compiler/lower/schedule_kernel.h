// From the definition of a tensor function to the kernel that a program calls: the schedule, and the passes on loop
// nests that follow it. It depends on its request alone, so that threads may make kernels at the same time.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lower/program.h"
#include "tensor/schedules/schedule.h"

namespace dlcc::lower {

struct KernelRequest {
  tensor::ScheduleRequest schedule;  // for the machines of all CPU levels
  // Whether levels share one kernel where their own ones would be little faster or the same. Not with tuning records,
  // which are of the last level.
  bool may_share_code = true;
  bool repeats_constants = false;  // a loop repeats the call, and its constants are too large for the cache
};

struct ScheduledKernel {
  KernelVariants kernel;
  std::string text;  // of the variants, without their names
  // As in tensor::ScheduledFunction.
  std::vector<std::function<Constant(const Constant&)>> packing;
  std::vector<std::pair<int, int>> in_place;
  bool is_serpentine = false;  // the kernel has the scalar `backward` after those of the function
};

ScheduledKernel schedule_kernel(KernelRequest);

}  // namespace dlcc::lower
