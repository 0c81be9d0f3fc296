// Reads an index that is data, such as the row of an embedding, once for all elements of a row instead of once for each
// vector of them:
//
//   vector i in 768 { y[b, i] = x[ids[b], i] else 0.0 }
//
// becomes
//
//   let index = ids[b]
//   vector i in 768 { y[b, i] = x[index, i] else 0.0 }
#pragma once

#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Moves the indices of loads out of vector loops of constant extent if they contain loads and are equal in all
// iterations. The loads in them must be provably in range. Different buffers must be different memory. `symbols` are
// those of the kernel.
Stmt hoist_indices(const Stmt&, const std::vector<Symbol>& symbols);

}  // namespace dlcc::tensor
