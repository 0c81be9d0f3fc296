// Serpentine order: a kernel that is called again and again with the same large operand reads it forward in one call
// and backward in the next. What the caches still hold of the operand's end is then read first. Read forward only, an
// operand that exceeds a cache evicts each of its parts before the next call reads it.
#pragma once

#include <set>

#include "tensor/ir.h"

namespace dlcc::tensor {

// The statement with the iterations of its outermost parallel loops in reverse order if `backward`, an int64 that is 0
// or 1, is 1: of those loops in which each iteration reads another part of one of `repeated`. Prefetches reach for the
// part before in place of the next. Null if there is no such loop.
Stmt serpentine_order(const Stmt&, const Var& backward, const std::set<Buffer>& repeated);

}  // namespace dlcc::tensor
