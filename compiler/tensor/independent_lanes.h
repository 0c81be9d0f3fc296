// Finds vector loops whose iterations depend on each other.
#pragma once

#include <optional>

#include "tensor/ir.h"

namespace dlcc::tensor {

// A buffer that the loop writes and of which two iterations may access the same element. Null if there is none: then
// the iterations may be executed in any order. Buffers that the loop allocates belong to one iteration.
Buffer shared_between_iterations(const For& loop);

// Whether two indices differ by a constant distance that is further than the first one moves along the whole loop.
bool are_out_of_reach(const For& loop, const Expr& a, const Expr& b);

}  // namespace dlcc::tensor
