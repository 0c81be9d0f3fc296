// Distribution of loops over rows. In a softmax or a layer normalization, each stage of a row waits for the one before:
// the sum for the maximum, the logarithm for the sum. For a block of rows, the stages run one after the other instead.
// A CPU then begins a row before the last one is finished. A number that each row has one of and that takes long to
// compute, such as the logarithm, is a lane of a vector:
//
//   parallel i in rows:                parallel b in rows / 8:
//     largest = ..                       for r in 8: largest[r] = ..
//     for j: total += e(x[i, j])         for r in 8: for j: total[r] += e(x[8 * b + r, j])
//     log_total = log(total)      =>     vector r in 8: log_total[r] = log(total[r])
//     for j: y[i, j] = ..                for r in 8: for j: y[8 * b + r, j] = ..
//                                      parallel i in the rest: ..
#pragma once

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// Distributes parallel loops over a constant number of rows of constant size, whose body is a list of statements with
// local buffers, at least one of them of one element. A block has a row for each lane of a vector of 32-bit elements,
// or fewer, but at least 4, so that its rows are in the level-1 cache and each of `threads` threads has a few blocks.
// Elements are computed by the same operations as before. Nothing changes on machines without vectors, or with little
// memory.
Stmt distribute_rows(const Stmt&, const Machine&, int threads);

}  // namespace dlcc::tensor
