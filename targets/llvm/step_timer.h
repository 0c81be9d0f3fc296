// Timers for profiles of a model: a probe, whose time tells the speed of the machine at that moment, and a profiler
// that times the steps of a model.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "targets/llvm/loaded_object.h"
#include "targets/llvm/loader.h"

namespace dlcc::targets {

double seconds_since(std::chrono::steady_clock::time_point);

// Code and memory of a probe.
class LoadedProbe {
 public:
  explicit LoadedProbe(const Probe&);

  double seconds();  // of one call, made now

 private:
  LoadedObject object_;
  RunFunction run_;
  std::vector<const void*> inputs_;
  std::vector<std::vector<std::byte>> outputs_;
  std::vector<void*> output_pointers_;
};

// A profiler that adds the seconds of each step to seconds[step]. With a probe `between` the steps, adds the ratio of
// the step's time to the probe's time, the mean of its runs before and after the step, to probes[step].
class StepTimer {
 public:
  explicit StepTimer(LoadedProbe* between);
  StepTimer(const StepTimer&) = delete;

  // Returns the profiler for one call of the model. `seconds` and `probes` have an element for each step.
  const dlcc_profiler* adding_to(double* seconds, double* probes);

 private:
  void end_step(int32_t step);

  dlcc_profiler profiler_{};
  std::vector<std::chrono::steady_clock::time_point> starts_;  // a stack: calls of functions contain steps
  double *seconds_ = nullptr, *probes_ = nullptr;
  LoadedProbe* const between_;
  double last_probe_ = 0;  // seconds
};

}  // namespace dlcc::targets
