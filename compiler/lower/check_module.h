// Refuses modules that cannot be compiled to native code, before any pass runs.
#pragma once

#include "relay/ir.h"
#include "support/diagnostics.h"

namespace dlcc::lower {

// Whether there is a function @main, its parameters are tensors or tuples of tensors, blocks are nested at most 1000
// levels deep, every operator has a definition, and every size in the module is a number, follows from sizes that the
// caller gives, or is a data-dependent size that the module defines. Reports each violation, and each symbol once.
// `model` is the source location of violations that have none of their own.
bool check_module(const relay::Module&, const SourceLocation& model, Diagnostics&);

}  // namespace dlcc::lower
