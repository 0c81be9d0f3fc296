// The schedule of stages that no other schedule handles. Elementwise stages are vectorized along the innermost storage
// dimension:
//
//   parallel outer dimensions: vector innermost dimension: result[index] = value
//
// Reductions whose lanes are neighbouring results:
//
//   parallel outer dimensions: parallel vector of the innermost dimension:
//     acc[lane] = identity; for reduced axes: acc[lane] = combine(acc[lane], value); result[lane] = acc[lane]
//
// Reductions along contiguous operands (rows of a softmax) have neighbouring indices of the last reduced axis as lanes:
//
//   parallel dimensions:
//     acc[lane] = identity; for reduced axes, vectors of the last one: acc[lane] = combine(acc[lane], value)
//     result = acc[0] combined with acc[1], ..     # a tree reduction over the lanes
//
// Operands are read as they are stored; nothing is packed.
#pragma once

#include <map>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// The loops of one stage. `layouts` of the results (absent: dense); operands may have any layout.
Stmt schedule_stage(const Stage&, const std::map<Buffer, Layout>& layouts, const Machine&);

}  // namespace dlcc::tensor
