// Moves inner loop nests into functions of their own. Each loop of a nest keeps a counter and pointers in registers. A
// function whose nested loops need more registers than exist would spill some of them in its inner loops. An outlined
// nest has all registers to itself, and the registers of the loops around it are saved once per call.
#pragma once

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// An estimate of the maximum depth of nested loops whose counters and pointers fit the general registers of a function.
int loop_depth_that_fits(const Machine&);

// Outlines loop nests, so that no function has more than `max_depth` nested loops, as far as calls are cheap: the calls
// of an iteration take at most Machine::max_call_share of its estimated time, each Machine::call_cost. Nests that share
// register buffers with the loops around them, that have a requirement, or that contain a loop which threads share stay
// where they are. With one thread, parallel loops are serial. To follow choose_parallel_loops().
Stmt outline_loop_nests(const Stmt&, int max_depth, int threads, const Machine&);

// The next smaller depth with which outline_loop_nests() outlines other statements than with `max_depth`; `max_depth`
// if there is none.
int next_smaller_depth(const Stmt&, int max_depth, int threads, const Machine&);

}  // namespace dlcc::tensor
