// The steps of a program as a list, with the number of operations and bytes of each, for profiles and reports. The
// numbers of a program with symbolic sizes are those at typical sizes (lower/instantiate.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

// The number of calls of kernels and functions. Calls are numbered from 0 in the order of lower/walk.h, first the
// program's, then those of each function; a dlcc_profiler gets these numbers.
int count_steps(const Program&);

// The number of the first call in a function; `function` is its index, or -1 for the program.
int first_step(const Program&, int function);

// Multiply-accumulate operations of all kernel calls. Both arms of a branch count. The body of a loop counts once for
// each iteration if the trip count is constant, else once. The body of a function counts once for each call. Sums
// beyond int64 are the largest integer.
int64_t total_macs(const Program&);

// One kernel call, or a copy. In loops of constant trip counts and in functions, operations and bytes are those of all
// iterations and calls.
struct StepCost {
  int number = -1;            // of the call; -1 for a copy
  int function = -1;          // whose step it is; -1: the program's own
  int64_t position = 0;       // in the program's timeline (lower/live_ranges.h); in a function: that of its first call
  std::string node, kernel;   // the model's node or nodes; the kernel's name, "copy" for a copy
  int64_t flops = 0;          // two per multiply-accumulate of the definition; Winograd kernels execute fewer
  int64_t bytes_read = 0;     // all bytes of each operand as stored, once; weights included
  int64_t bytes_written = 0;  // results as stored
  int64_t scratch_bytes = 0;  // intermediates and converted copies of operands in the arena
  std::string scratch;        // the names of these buffers in the kernel: "packed, padded"
  // Operands without scratch, in the order of the kernel's parameters: values of the function.
  std::vector<ValueId> reads, writes;
  bool only_moves = false;  // computes nothing: a conversion of layout or type, a transpose, a copy

  int64_t bytes() const { return bytes_read + bytes_written; }
};
// Kernel calls and copies in the order of lower/walk.h, first the program's, then each function's.
std::vector<StepCost> step_costs(const Program&);

}  // namespace dlcc::lower
