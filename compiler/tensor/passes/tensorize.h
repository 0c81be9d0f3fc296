// Replaces vector loops by calls of intrinsics with the same semantics.
#pragma once

#include <span>

#include "tensor/intrinsic.h"

namespace dlcc::tensor {

// Replaces each vector loop whose only statement is the body of one of `known`, applied to boxes of buffers, by a call
// of that intrinsic. Runs on kernels whose layouts have been applied, since boxes are those of storage.
Stmt tensorize(const Stmt&, std::span<const Intrinsic* const> known);

}  // namespace dlcc::tensor
