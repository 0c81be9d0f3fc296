// Times the steps of a compiled model on this machine and compares them with the roofline model (Williams, Waterman and
// Patterson, CACM 52, 2009). The floor of a step is the roofline's lower bound of its time: max(operations / peak,
// bytes / bandwidth). The peak is measured before and after each step, since the clock frequency changes within a call;
// the bandwidth is measured between calls.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lower/steps.h"
#include "pipeline/foreign_runner.h"
#include "pipeline/random_inputs.h"
#include "targets/llvm/loader.h"

namespace dlcc {

// Medians over all calls.
struct Roof {
  double peak = 0;           // floating-point operations per second
  double bandwidth = 0;      // bytes per second
  int64_t buffer_bytes = 0;  // size of the buffer that the bandwidth probe reads
};

struct StepProfile {
  lower::StepCost cost;
  double seconds = 0;   // median over the calls; 0: the step did not run
  double shortest = 0;  // seconds; minimum over the calls
  double of_floor = 0;  // floor, by the peak around the step, divided by the step's time; median over the calls

  // GFLOP/s and GB/s.
  double gflops() const { return seconds > 0 ? static_cast<double>(cost.flops) / seconds * 1e-9 : 0; }
  double gigabytes() const { return seconds > 0 ? static_cast<double>(cost.bytes()) / seconds * 1e-9 : 0; }
};

struct Profile {
  std::string cpu;              // of this machine: its name for people and, in parentheses, LLVM's
  std::string date;             // of the measurement, in UTC: "2026-01-31T23:59:59Z"
  std::vector<double> seconds;  // latencies of the calls without profiler, ascending
  Roof roof;
  std::vector<StepProfile> steps;  // kernel calls, in the order of lower/walk.h
  int calls = 0;                   // number of calls with profiler

  double quantile(double q) const { return seconds[static_cast<size_t>(q * static_cast<double>(seconds.size() - 1))]; }

  // Totals over the steps that ran: time and floor in seconds, rate in GFLOP/s, and floor / time; 0 without steps.
  double step_seconds() const;
  double floor_seconds() const;
  double gflops() const;
  double of_floor() const;

  double share_of_time(const StepProfile& s) const { return s.seconds / step_seconds(); }
};

// Runs the object on `inputs`: `runs` calls for the latency and, when `steps` is set, further calls for the steps. The
// buffer of the bandwidth probe has the size of the model's weights and arena, the working set of a call, but at least
// four times the size of the second-level cache and at most 256 MiB. Empty, with diagnostics, when the model cannot
// run.
std::optional<Profile> profile(const Planned&, std::span<const std::byte> object, const RandomInputs& inputs, int runs,
                               bool steps, Diagnostics&);

// The latencies of the object when the runner starts it.
std::optional<Profile> profile_foreign(const Planned&, std::span<const std::byte> object, const RandomInputs& inputs,
                                       int runs, ForeignRunner&, Diagnostics&);

}  // namespace dlcc
