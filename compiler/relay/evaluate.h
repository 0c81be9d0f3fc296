// The reference evaluation of a module: @main, operation by operation, by the operators' definitions, without
// schedules, layouts or code. `dlcc verify` compares compiled models with it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "relay/ir.h"
#include "tensor/evaluate.h"

namespace dlcc::relay {

// Called with every binding that is evaluated and its tensors.
using Observer = std::function<void(const Binding&, std::span<const Constant> results)>;

// Arguments fit @main's parameters; results are main's results, tuples flattened. Stops at the first status that is not
// ok. Empty, with a diagnostic, for constructs that are not first-order (closures, data types, references).
std::optional<tensor::EvaluationResult> evaluate(const Module&, std::span<const Constant> args, tensor::Precision,
                                                 Diagnostics&, const Observer& observer = {});

}  // namespace dlcc::relay
