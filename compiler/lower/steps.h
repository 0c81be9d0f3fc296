// The steps of a program as a list: in which order they are numbered, and what each computes and moves. For profiles
// and reports.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

// Calls `visit` on every call and copy in the order of the code, those of both branches and of loops' bodies included.
void for_each_step(const Region&, const std::function<void(const Invoke&)>& call,
                   const std::function<void(const Copy&)>& copy = {});

int count_steps(const Program&);     // kernel calls; dlcc_profiler gets their numbers in this order, from 0
int64_t total_macs(const Program&);  // multiply-accumulate operations of all calls, branches counted both

// One kernel call, or a copy.
struct StepCost {
  int number = -1;            // the profiler's; -1 for a copy, which has none
  std::string node, kernel;   // the model's node or nodes; the kernel's name, "copy" for a copy
  int64_t flops = 0;          // two for each multiply-accumulate of the definition, however the kernel computes it
  int64_t bytes_read = 0;     // operands as stored, weights included, each counted once and whole
  int64_t bytes_written = 0;  // results as stored
  int64_t scratch_bytes = 0;  // intermediates and converted copies of operands in the arena
  std::string scratch;        // what they are: "packed, padded"; names of buffers of the kernel
  bool only_moves = false;    // stores what it loads: a conversion of layout or type, a transpose, a copy

  int64_t bytes() const { return bytes_read + bytes_written; }
};
std::vector<StepCost> step_costs(const Program&);  // in the order of for_each_step

}  // namespace dlcc::lower
