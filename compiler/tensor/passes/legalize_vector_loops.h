// Makes vector loops legal, so that code generation may execute several of their iterations as one vector.
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// A vector loop is legal if vectors of any number of its consecutive iterations compute what lock step computes:
//   * no iteration accesses an element that another iteration writes, except for buffers that the loop allocates, which
//     belong to one iteration;
//   * control flow is the same in all iterations: conditions of branches and extents of loops do not vary;
//   * an iteration stores to elements of its own, of at least a byte. Indices of buffers that the loop allocates do not
//     vary, nor do those of loads of less than a byte;
//   * the body contains neither vector loops nor intrinsic calls, which are vectors themselves, and outlines no nest.
//
// Rewrites vector loops until each is legal. If iterations access elements that others write, lock step still executes
// one statement after the other, so that the loop is distributed: each statement of its body gets a vector loop of its
// own, over the same variable. Any other loop that is not legal is unrolled if its variable indexes a register buffer,
// else it becomes serial: its body is one statement, whose iterations may be executed in any order, or its iterations
// do not depend on each other.
Stmt legalize_vector_loops(const Stmt&);

}  // namespace dlcc::tensor
