// Evaluates a lowered program: every kernel runs in the evaluator of the tensor IR. Tests schedules, layouts, packing
// and control flow without code generation.
#pragma once

#include <map>
#include <span>
#include <string>

#include "lower/program.h"
#include "tensor/evaluate.h"

namespace dlcc::lower {

struct ProgramResult : tensor::EvaluationResult {
  std::map<std::string, int64_t> sizes;  // the values of the program's symbols, if the status is ok
};

// Evaluates variant `level` of every kernel. The results are the outputs in order, as stored, or meaningless when the
// status is not ok. The shapes of the inputs give the symbolic sizes; inputs that disagree give the status
// dimension_out_of_range. Every value has memory of its own: storage plans are not tested.
ProgramResult evaluate(const Program&, std::span<const Constant> inputs, size_t level);

}  // namespace dlcc::lower
