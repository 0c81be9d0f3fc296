// Automatic differentiation in reverse mode (Roesch et al., "Relay: A High-Level Compiler for Deep Learning", 2019,
// section 4.2, for programs without closures): after the operations of a block, others compute the gradients of its
// values in the opposite order, by the rules of the operators (OperatorSpec::gradient).
//
// An `if` becomes one for the gradients of what its branches read; it takes the branch again. Sizes, integers and
// conditions have no gradient. There are no rules for calls of functions, loops among them, `match`, references and
// tensor functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

struct Gradients {
  std::vector<Binding> bindings;  // to be put after those that were differentiated, in this order
  std::vector<Atom> of;  // for each variable its gradient, of the variable's type; zeros if nothing depends on it
};

// The gradients of the sum of all floating-point elements of `results` with respect to `variables`, tensors of floats
// that are defined before `bindings` and have types. `results` may be variables of the bindings, tuples among them.
// Reports, at its location, an operation that has no gradient; then there is no result.
std::optional<Gradients> differentiate(Module&, std::span<const Binding> bindings, const std::vector<Atom>& results,
                                       const std::vector<Var>& variables, const SourceLocation&, Diagnostics&);

}  // namespace dlcc::relay
