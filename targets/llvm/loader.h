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

struct RunRequest {
  std::span<const std::byte> object;
  const emit::Interface* interface;
  std::vector<Constant> inputs;  // in the model's order, of its types and shapes
  int time_limit_seconds = 600;
  int repeat = 1;  // timed calls after one warm-up when > 1
};

struct RunResult {
  int status = 0;  // what P_run returned (dlcc_status)
  std::vector<Constant> outputs;
  std::vector<double> seconds;  // of each call when repeat > 1
};

// Empty, with a diagnostic, when the object cannot be loaded, the child crashed (the message says where: a guard page,
// which tensor) or timed out.
std::optional<RunResult> run_object(const RunRequest&, Diagnostics&);

}  // namespace dlcc::targets
