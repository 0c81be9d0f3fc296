// Replaces vector loops, and stores of one element, by calls of intrinsics with the same semantics.
#pragma once

#include <span>

#include "tensor/intrinsic.h"

namespace dlcc::tensor {

// Replaces each vector loop whose only statement is the body of one of `known`, applied to boxes of buffers, by a call
// of that intrinsic. The body of an intrinsic of one lane is a store, and replaces stores outside of vector loops. Runs
// on kernels whose layouts have been applied, since boxes are those of storage.
Stmt tensorize(const Stmt&, std::span<const Intrinsic* const> known);

}  // namespace dlcc::tensor
