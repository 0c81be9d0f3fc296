// The naive schedule, by which the evaluator runs definitions: one loop nest per stage,
//
//   parallel axes but the last: vector last axis:
//     acc = identity                                 # register
//     for reduced axes: acc = combine(acc, value)
//     result[axes] = acc
#pragma once

#include "tensor/ir.h"

namespace dlcc::tensor {

// Parameters of the function are read, results written, intermediates are scratch. The vector loop is the last axis of
// more than one index. Sums and products have the reduced axes that a predicate depends on outermost.
Kernel naive_schedule(const TensorFunction&);

}  // namespace dlcc::tensor
