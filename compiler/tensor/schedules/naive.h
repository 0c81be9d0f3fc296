// The naive schedule, by which the evaluator runs definitions: one loop nest per stage,
//
//   parallel axes but the last: vector last axis:
//     acc = identity                                 # register
//     for reduced axes: acc = combine(acc, value)
//     result[axes] = acc
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// The kernel reads the function's parameters and writes its results; intermediate tensors are scratch. The vector loop
// is the last axis of extent greater than 1. In sums and products, the reduced axes on which a predicate depends are
// outermost.
Kernel naive_schedule(const TensorFunction&);

}  // namespace dlcc::tensor
