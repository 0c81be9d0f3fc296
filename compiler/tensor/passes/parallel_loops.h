// Decides which of a kernel's parallel loops run on several threads, and in what portions.
#pragma once

#include "tensor/ir.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

// Keeps LoopKind::parallel on loops that are worth a fork and a join on `threads` threads; the others become serial. At
// most one loop of a nest is kept: the one that divides most evenly at the least cost, or two perfectly nested ones
// made one. Every thread gets an equal, consecutive share of the iterations. A loop that uses a buffer allocated around
// it stays serial. To be called when nothing else changes the loops; `threads` 1 makes all serial.
Stmt choose_parallel_loops(const Stmt&, int threads);

// Into how many tasks of consecutive iterations such a loop of `extent` iterations is divided: some for each thread,
// as many for all, so that others can take those of a thread that is slow; but none of less than a few microseconds.
int64_t count_tasks(const For&, int64_t extent, int threads);

// What a statement costs, in the unit of Machine::call_cost; a loop of unknown extent counts as one iteration. `ranges`
// are those of the variables around it.
double cost_of(const Stmt&, const Ranges&);

}  // namespace dlcc::tensor
