// The reference evaluation of a module: @main, operation by operation, by the operators' definitions, without
// schedules, layouts or code. `dlcc verify` compares compiled models with it.
#pragma once

#include <span>

#include "relay/ir.h"
#include "tensor/evaluate.h"

namespace dlcc::relay {

// Arguments fit @main's parameters; results are main's results, tuples flattened. Stops at the first status that is not
// ok. A call in tail position of a function takes the place of the caller, so that a loop written as recursion runs in
// constant memory; other recursion may be 1000 calls deep. Empty, with a diagnostic, for constructs that are not
// first-order: functions as operands or results, data types, references.
std::optional<tensor::EvaluationResult> evaluate(const Module&, std::span<const Constant> args, tensor::Precision,
                                                 Diagnostics&);

}  // namespace dlcc::relay
