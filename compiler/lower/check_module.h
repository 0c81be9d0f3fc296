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

// The sizes that a run must check to be in [0, 2^40], each once, over the sizes that the caller gives: sizes of values
// of @main and of the functions that it calls that may be negative, or too large in a tensor without elements. Also the
// sizes, less 1, that operators require to be positive (OperatorSpec::positive_sizes), such as the number of windows of
// a pooling. To be called before fusion, which hides these sizes.
std::vector<Dim> sizes_to_check(const relay::Module&);

}  // namespace dlcc::lower
