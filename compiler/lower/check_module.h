// What keeps a module from native code as it stands, before any pass runs.
#pragma once

#include "relay/ir.h"
#include "support/diagnostics.h"

namespace dlcc::lower {

// There is a function @main, its parameters are tensors or tuples of them, and every size in it and in the other
// functions is known. Reports what is not so, a symbol once; `model` is the place of what has none of its own.
bool check_module(const relay::Module&, const SourceLocation& model, Diagnostics&);

}  // namespace dlcc::lower
