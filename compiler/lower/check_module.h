// Refuses modules that cannot be compiled to native code, before any pass runs.
#pragma once

#include "relay/ir.h"
#include "support/diagnostics.h"

namespace dlcc::lower {

// Whether there is a function @main, its parameters are tensors or tuples of tensors, and every dimension in the module
// is a number. Reports each violation, and each symbolic dimension once. `model` is the source location of violations
// that have none of their own.
bool check_module(const relay::Module&, const SourceLocation& model, Diagnostics&);

// The sizes of values of @main, and of functions in it, that a run must check, each once. They may be negative, as
// those of a convolution that is larger than its image, or too large in a tensor that has no elements. Fusion hides
// them.
std::vector<Dim> doubtful_sizes(const relay::Module&);

}  // namespace dlcc::lower
