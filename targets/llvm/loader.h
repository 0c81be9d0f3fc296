// Links an object file into this process (loaded_object.h) and runs the model in a forked child process, with guard
// pages around every tensor and the arena, and a time limit. `run`, `verify` and `bench` use it: models are executed in
// no other way.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emit/interface.h"
#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc::targets {

// A small model that is timed in the same process as the measured model. Its time tells the speed of the machine at
// that moment. It has code for the same CPU levels, needs no arena and cannot fail.
struct Probe {
  std::span<const std::byte> object;
  const emit::Interface* interface;
  std::vector<Constant> inputs;
};

struct RunRequest;

// Timed calls of a model, step by step. CPU frequencies drift, so calls are measured in rounds of
//   each probe twice, of which the second time counts; the model once as warm-up, then `calls` times with a profiler;
//   the rival likewise.
// Frequencies change within a call, too: the probe `between` runs before the first step and after each step.
struct ProfileRequest {
  std::vector<Probe> probes;
  std::optional<Probe> between;  // short and small, so that it evicts little of the model's data from the caches
  int rounds = 0, calls = 4;
  int steps = 0;                      // kernel calls of the model
  const RunRequest* rival = nullptr;  // a model with the same inputs, outputs and number of steps; or null
};

struct RunRequest {
  std::span<const std::byte> object;
  const emit::Interface* interface;
  std::vector<Constant> inputs;  // in the model's order, with its types and shapes
  int time_limit_seconds = 600;
  int repeat = 1;  // if > 1: timed calls, after one warm-up
  ProfileRequest profile = {};
  std::span<const std::byte> weights = {};  // the contents of the weights file, for a model that has one
};

struct ProfileRound {
  std::vector<double> probe_seconds;               // [probe]
  std::vector<std::vector<double>> step_seconds;   // [call][step]; 0 for a step that did not run
  std::vector<std::vector<double>> rival_seconds;  // likewise; empty without a rival
  // [call][step]: the step's time divided by that of the probe `between`, the mean of its runs before and after the
  // step; empty without it.
  std::vector<std::vector<double>> step_probes;
};

struct RunResult {
  int status = 0;  // the dlcc_status that P_run_ctx returned
  std::vector<Constant> outputs;
  std::vector<double> seconds;  // [call], if repeat > 1
  std::vector<ProfileRound> profile;
};

// Empty, with a diagnostic, if the object cannot be loaded, or the child crashed (the message names the guard page's
// tensor) or timed out.
std::optional<RunResult> run_object(const RunRequest&, Diagnostics&);

}  // namespace dlcc::targets
