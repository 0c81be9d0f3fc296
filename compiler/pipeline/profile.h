// How long the steps of a compiled model take on this machine, against what the machine can do: each step's floor is
// max(operations / peak, bytes / bandwidth), with the peak measured before and behind the step, since clocks change
// within a call, and the bandwidth between calls (the roofline model: Williams, Waterman and Patterson, 2009).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lower/steps.h"
#include "pipeline/compile.h"
#include "targets/llvm/loader.h"

namespace dlcc {

// Peak in operations per second; bandwidth in bytes per second, read from a buffer of `buffer_bytes`. Medians.
struct Roof {
  double peak = 0, bandwidth = 0;
  int64_t buffer_bytes = 0;
};

struct StepProfile {
  lower::StepCost cost;
  double seconds = 0;   // median over the calls; 0: not run
  double shortest = 0;  // of all calls, in seconds
  double of_floor = 0;  // the floor at the peak beside the step, divided by the step's time; median over the calls

  double gflops() const { return seconds > 0 ? static_cast<double>(cost.flops) / seconds * 1e-9 : 0; }
  double gigabytes() const { return seconds > 0 ? static_cast<double>(cost.bytes()) / seconds * 1e-9 : 0; }  // a second
};

struct Profile {
  std::vector<double> seconds;  // of calls without profiler, ascending
  Roof roof;
  std::vector<StepProfile> steps;  // kernel calls in the order of the code
  int calls = 0;                   // whose steps were timed

  double quantile(double q) const { return seconds[static_cast<size_t>(q * static_cast<double>(seconds.size() - 1))]; }

  // Over the steps that were run.
  double step_seconds() const;
  double floor_seconds() const;
  double gflops() const;

  double share_of_time(const StepProfile& s) const { return s.seconds / step_seconds(); }
};

// Runs the object on `inputs`: `runs` calls for the latency and, when `steps`, further calls for the steps. The buffer
// of the bandwidth probe is as large as the model's weights and arena, since that is what a call goes through, but
// larger than the second-level cache and at most 256 MiB. Empty, with diagnostics, when the model cannot run.
std::optional<Profile> profile(const Planned&, std::span<const std::byte> object, const std::vector<Constant>& inputs,
                               int runs, bool steps, Diagnostics&);

}  // namespace dlcc
