// The reference evaluation of a module whose results are tensors: @main, operation by operation, by the operators'
// definitions, without schedules, layouts or code. `dlcc verify` compares compiled models with it.
#pragma once

#include <span>

#include "relay/ir.h"
#include "tensor/evaluate.h"

namespace dlcc::relay {

struct Evaluation : tensor::EvaluationResult {
  SourceLocation location;  // of the operation that returned a status other than ok
};

// Arguments fit @main's parameters; results are main's results, tuples flattened. Stops at the first status that is not
// ok. Empty, with a diagnostic, if interpret() returns nothing or the result is neither a tensor nor a tuple of
// tensors.
std::optional<Evaluation> evaluate(const Module&, std::span<const Constant> args, tensor::Precision, Diagnostics&);

}  // namespace dlcc::relay
