// Serpentine order: a kernel that is called again and again with the same large operand reads it forward in one call
// and backward in the next. A call thus begins with the part of the operand that is still in the cache. If it were read
// forward in every call, an operand that exceeds the cache would evict each of its parts before the next call reads it.
#pragma once

#include <set>

#include "tensor/ir.h"

namespace dlcc::tensor {

// The statement with some of its outermost parallel loops in reverse order if `backward`, an int64 variable that is 0
// or 1, is 1. These are the loops in which each iteration reads a different part of a buffer in `repeated`. In reverse
// order, prefetches fetch the previous part instead of the next. Null if there is no such loop.
Stmt serpentine_order(const Stmt&, const Var& backward, const std::set<Buffer>& repeated);

}  // namespace dlcc::tensor
