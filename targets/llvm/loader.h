// Loads the bytes of an object file for this machine (JITLink) and runs the model in a forked child process, with guard
// pages around every tensor and the arena and a time limit. `run`, `verify` and `bench` use it: there is no second way
// to execute a model.
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

// A model that is timed beside another one in the same process, to learn what the machine can do at that moment. It has
// code for the same CPU levels, needs no arena and cannot fail.
struct Probe {
  std::span<const std::byte> object;
  const emit::Interface* interface;
  std::vector<Constant> inputs;
};

struct RunRequest;

// Calls whose steps are timed. Clocks drift, so they come in rounds: in each the probes run twice, of which the second
// time counts, then the model once to have its caches as it likes them, then `calls` times with a profiler; and a rival
// in the same way. Clocks change within a call, too: the probe `between` the steps runs before the model's first one
// and behind each.
struct ProfileRequest {
  std::vector<Probe> probes;
  std::optional<Probe> between;  // short, and of little memory, so that the model finds its caches as it left them
  int rounds = 0, calls = 4;
  int steps = 0;                      // of the model
  const RunRequest* rival = nullptr;  // a model of the same inputs, outputs and number of steps; or null
};

struct RunRequest {
  std::span<const std::byte> object;
  const emit::Interface* interface;
  std::vector<Constant> inputs;  // in the model's order, of its types and shapes
  int time_limit_seconds = 600;
  int repeat = 1;  // timed calls after one warm-up when > 1
  ProfileRequest profile = {};
  std::span<const std::byte> weights = {};  // the contents of the weights' file, of a model compiled without them
};

struct ProfileRound {
  std::vector<double> probe_seconds;               // of each probe
  std::vector<std::vector<double>> step_seconds;   // [call][step]; 0 for a step that was not run
  std::vector<std::vector<double>> rival_seconds;  // likewise; empty without a rival
  // Likewise: the step's time divided by that of the probe between the steps, the mean of its runs before and behind;
  // empty without one.
  std::vector<std::vector<double>> step_probes;
};

struct RunResult {
  int status = 0;  // what P_run returned (dlcc_status)
  std::vector<Constant> outputs;
  std::vector<double> seconds;  // of each call when repeat > 1
  std::vector<ProfileRound> profile;
};

// Empty, with a diagnostic, when the object cannot be loaded, the child crashed (the message says where: a guard page,
// which tensor) or timed out.
std::optional<RunResult> run_object(const RunRequest&, Diagnostics&);

}  // namespace dlcc::targets
