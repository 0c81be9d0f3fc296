// The steps of a program as a list, with the operations and bytes of each. For profiles and reports. Those of programs
// with symbolic sizes are for typical sizes (lower/instantiate.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

// The number of kernel calls. Calls are numbered from 0 in the order of lower/walk.h; a dlcc_profiler gets these
// numbers.
int count_steps(const Program&);

// Multiply-accumulate operations of all calls. Both arms of a branch count. The body of a loop counts once for each
// iteration if their number is constant, else once. Sums beyond int64 are the largest integer.
int64_t total_macs(const Program&);

// One kernel call, or a copy. In loops of constant trip counts, operations and bytes are those of all iterations.
struct StepCost {
  int number = -1;                     // of the call; -1 for a copy
  int64_t position = 0;                // in time (lower/live_ranges.h)
  std::string node, kernel;            // the model's node or nodes; the kernel's name, "copy" for a copy
  int64_t flops = 0;                   // two per multiply-accumulate of the definition; Winograd kernels execute fewer
  int64_t bytes_read = 0;              // all bytes of each operand as stored, once; weights included
  int64_t bytes_written = 0;           // results as stored
  int64_t scratch_bytes = 0;           // intermediates and converted copies of operands in the arena
  std::string scratch;                 // the names of these buffers in the kernel: "packed, padded"
  std::vector<ValueId> reads, writes;  // operands without scratch, in the order of the kernel's parameters
  bool only_moves = false;             // computes nothing: a conversion of layout or type, a transpose, a copy

  int64_t bytes() const { return bytes_read + bytes_written; }
};
std::vector<StepCost> step_costs(const Program&);  // kernel calls and copies, in the order of lower/walk.h

}  // namespace dlcc::lower
