// A lowered program as one text: values, signatures, the control skeleton, then the kernels of every CPU level; and on
// which lines each part stands. `--emit=tensor` writes the text, and under `-g` code refers to it as to its source.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "lower/program.h"
#include "tensor/print_lines.h"

namespace dlcc::lower {

struct KernelText {
  int line = 0;  // of its first line
  tensor::StatementLines statements;
};

// Lines count from 1. Refers to the program's steps and statements, so it is of use as long as the program is.
struct ProgramText {
  std::string text;
  int run_line = 0;
  std::unordered_map<const Step*, int> steps;
  std::vector<std::vector<KernelText>> kernels;  // as Program::kernels and their variants
};

ProgramText print_with_lines(const Program&, const StoragePlan&);

}  // namespace dlcc::lower
