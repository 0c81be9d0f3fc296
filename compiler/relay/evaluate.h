// The reference meaning of a whole module: @main evaluated operation by operation through the definitions, without
// schedules, layouts or code. `verify` compares compiled models with it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "relay/ir.h"
#include "tensor/evaluate.h"

namespace dlcc::relay {

// Sees every tensor that a binding of @main computes.
using Observer = std::function<void(const Binding&, std::span<const Constant> results)>;

// Arguments fit @main's parameters; results are main's results, tuples flattened. Stops at the first status that is not
// ok. Empty, with a diagnostic, for constructs that are not first-order (closures, data types, references).
std::optional<tensor::EvaluationResult> evaluate(const Module&, std::span<const Constant> args, tensor::Precision,
                                                 Diagnostics&, const Observer& observer = {});

}  // namespace dlcc::relay
