// Binds shared sub-expressions to variables. Without this, the text of a kernel and the time of a tree traversal would
// be exponential in the depth of sharing.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// Binds every shared sub-expression of a stored value or of a requirement by a `let` before the statement. If all uses
// of such an expression are in arms of selects, whose conditions may guard its loads, the loads become predicated
// loads.
Stmt bind_shared(const Stmt&);

}  // namespace dlcc::tensor
