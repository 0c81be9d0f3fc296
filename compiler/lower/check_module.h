// Refuses modules that cannot be compiled to native code, before any pass runs.
#pragma once

#include "relay/ir.h"
#include "support/diagnostics.h"

namespace dlcc::lower {

// Whether there is a function @main, its parameters are tensors or tuples of tensors, blocks are nested at most 1000
// levels deep, and every size in the module is a number or follows from sizes that the caller gives or data decide.
// Reports each violation, and each symbol once. `model` is the source location of violations that have none of their
// own.
bool check_module(const relay::Module&, const SourceLocation& model, Diagnostics&);

// The sizes of values of @main, and of the functions that it calls, that a run must check, each once: they may be
// negative, or too large in a tensor that has no elements. So may the number of windows of a convolution or pooling
// less 1, if the window is larger than the image, and the number of elements less 1 in which argmax searches. Fusion
// hides these sizes.
std::vector<Dim> doubtful_sizes(const relay::Module&);

}  // namespace dlcc::lower
