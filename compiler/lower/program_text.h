// A lowered program as text: its sizes, its values, the signatures of its kernels and the control flow of the run
// function. lower/parse_program.h reads it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "lower/plan.h"
#include "lower/program.h"
#include "tensor/print_lines.h"

namespace dlcc::lower {

// With the offsets of temporaries when a plan is given.
std::string print(const Program&, const StoragePlan* plan = nullptr);

struct KernelText {
  int line = 0;  // of the kernel's first line
  tensor::StatementLines statements;
};

// The text of a program and its kernels, with the line of each part. Lines count from 1. Refers to the program's steps
// and statements: the program must outlive it.
struct ProgramText {
  std::string text;
  int run_line = 0;
  std::vector<int> functions;  // their first lines
  std::unordered_map<const Step*, int> steps;
  std::vector<std::vector<KernelText>> kernels;  // [kernel][variant], as in Program::kernels
};

// The text that `--emit=tensor` writes: that of print() with the plan, then the kernels of every CPU level. With `-g`,
// debug information refers to its lines.
ProgramText print_with_lines(const Program&, const StoragePlan&);

}  // namespace dlcc::lower
