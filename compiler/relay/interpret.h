// The interpreter of the whole language: data types, `match`, closures, references and polymorphic functions as well as
// tensors. Operators are evaluated by their compute definitions. The interpreter is the reference with which passes and
// compiled programs are compared.
//
// The interpreter is an abstract machine with an explicit stack: calls, loops and nested blocks of the program use no
// stack of the host. A call in tail position replaces the activation of its caller, so that a loop written as a
// recursion runs in constant memory.
#pragma once

#include <span>

#include "relay/value.h"
#include "tensor/evaluate.h"

namespace dlcc::relay {

struct Interpretation {
  tensor::Status status = tensor::Status::ok;
  Value value;              // of @main; null unless the status is ok
  SourceLocation location;  // of the operation that returned a status other than ok
};

inline constexpr int64_t unlimited_steps = INT64_MAX;

// Runs @main with arguments that fit its parameters, after inference. Stops at the first status that is not ok. Empty,
// with a diagnostic, when no arm of a `match?` fits, nested calls that are not in tail position take more than
// memory_for_recursion(), or the program needs more than `max_steps` steps: one for each operation, and one for each
// iteration of the loops of an operator's definition. If that is in a function of the prelude, the diagnostic also has
// the location of the last call outside of it. Values refer to the module, which must outlive them.
std::optional<Interpretation> interpret(const Module&, std::span<const Value> args, tensor::Precision, Diagnostics&,
                                        int64_t max_steps = unlimited_steps);

}  // namespace dlcc::relay
