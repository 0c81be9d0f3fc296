// The schedule of stages that no other schedule handles. Elementwise stages are vectorized along the innermost storage
// dimension:
//
//   parallel outer dimensions: vector innermost dimension: result[index] = value
//
// One-dimensional ones are divided into chunks, which threads share:
//
//   parallel chunk of Machine::elementwise_chunk: vector element: result[i] = value
//
// A stage with one element for each row, such as the mean of the row, can instead be scheduled for row fusion
// (passes/fuse_rows.h), which puts it into the loop over the rows:
//
//   parallel dimensions: result[index] = value
//
// Reductions whose lanes are neighbouring results:
//
//   parallel outer dimensions: parallel vector of the innermost dimension:
//     acc[lane] = identity; for reduced axes: acc[lane] = combine(acc[lane], value); result[lane] = acc[lane]
//
// Reductions along contiguous operands (rows of a softmax) have neighbouring indices of the last reduced axis as lanes:
//
//   parallel dimensions:
//     acc[u][lane] = identity
//     for reduced axes, groups of vectors of the last one:
//       unrolled u: acc[u][lane] = combine(acc[u][lane], value)
//     result = all elements of acc combined                         # a tree reduction
//
// There are Machine::row_accumulators accumulators, or one if the value is expensive.
// Operands are read as they are stored; nothing is packed.
#pragma once

#include <map>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// The loops of one stage. `layouts` of the results (absent: dense); operands may have any layout.
Stmt schedule_stage(const Stage&, const std::map<Buffer, Layout>& layouts, const Machine&);

// The loops of an elementwise stage without vectors, for row fusion; null for other stages.
Stmt schedule_by_element(const Stage&, const std::map<Buffer, Layout>& layouts, const Machine&);

}  // namespace dlcc::tensor
