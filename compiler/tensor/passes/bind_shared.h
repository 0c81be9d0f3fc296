// Expressions that are used several times get a name, so that the text of a kernel, and whoever walks it, is as large
// as the work it describes.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// Binds every shared sub-expression of a stored value or a requirement by a `let`. Loads that only an arm of a select
// reaches, and that the arm may guard, become predicated ones.
Stmt bind_shared(const Stmt&);

}  // namespace dlcc::tensor
