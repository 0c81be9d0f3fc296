// Evaluates a lowered program: every kernel runs in the evaluator of the tensor IR. Tests schedules, layouts, packing
// and control flow without code generation.
#pragma once

#include <span>

#include "lower/program.h"
#include "tensor/evaluate.h"

namespace dlcc::lower {

// Evaluates variant `level` of every kernel. The results are the outputs in order, or meaningless when the status is
// not ok. The shapes of the inputs give the symbolic sizes; those that disagree are dimension_out_of_range. Every value
// has memory of its own: storage plans are not tested.
tensor::EvaluationResult evaluate(const Program&, std::span<const Constant> inputs, size_t level);

}  // namespace dlcc::lower
