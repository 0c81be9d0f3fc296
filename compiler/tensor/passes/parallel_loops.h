// Selects the parallel loops of a kernel that run on several threads, and the number of their tasks.
#pragma once

#include "tensor/ir.h"
#include "tensor/machine.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

// Makes parallel loops serial, except those whose estimated time on `threads` threads, a fork and a join included, is
// less than on one. At most one loop of a nest stays parallel: the one of the least estimated time, or two perfectly
// nested loops collapsed into one. Each thread gets an equal, contiguous share of the iterations. A loop that uses a
// buffer allocated around it becomes serial. For a loop of symbolic extent, the estimate uses its extent at typical
// sizes (shape/typical_sizes.h). No pass that changes loops may follow. With `threads` 1 all become serial.
Stmt choose_parallel_loops(const Stmt&, int threads, const Machine&);

// The number of tasks, each of consecutive iterations, of a parallel loop of `extent` iterations: a multiple of
// `threads`, so that a fast thread can take over tasks of a slow one, but not so many that a task takes less than a few
// microseconds.
int64_t count_tasks(const For&, int64_t extent, int threads, const Machine&);

// The extent of a loop at typical sizes.
int64_t typical_extent(const For&);

// The estimated cost of a loop as a dim over the sizes, in the unit of Machine::fork_cost: a parallel loop whose cost is
// not constant is worth a fork only at sizes for which it is more than that.
Dim cost_in_sizes(const For&, const Machine&);

// The estimated cost of a statement, in the unit of Machine::call_cost. A loop of unknown extent counts as one
// iteration. `ranges` are those of the statement's free variables.
double cost_of(const Stmt&, const Ranges&, const Machine&);

}  // namespace dlcc::tensor
