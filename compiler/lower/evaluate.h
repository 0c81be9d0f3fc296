// Runs a planned program without code generation: every kernel through the tensor IR's evaluator. It tests schedules,
// layouts, packing and the skeleton apart from any back end.
#pragma once

#include <span>

#include "lower/program.h"
#include "tensor/evaluate.h"

namespace dlcc::lower {

// Runs variant `level` of every kernel; results are the outputs in order.
tensor::EvaluationResult evaluate(const Program&, std::span<const Constant> inputs, size_t level);

}  // namespace dlcc::lower
