// Refuses modules that cannot be compiled to native code, before any pass runs.
#pragma once

#include "relay/ir.h"
#include "support/diagnostics.h"

namespace dlcc::lower {

// Whether there is a function @main, its parameters are tensors or tuples of tensors, and every dimension in the module
// is a number. Reports each violation, and each symbolic dimension once. `model` is the source location of violations
// that have none of their own.
bool check_module(const relay::Module&, const SourceLocation& model, Diagnostics&);

}  // namespace dlcc::lower
