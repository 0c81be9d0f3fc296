// Row fusion: consecutive stages of a function, such as the maximum, the exponentials, their sum and the quotients of a
// softmax, run row by row instead of stage by stage, so that each row stays in the cache:
//
//   for i in rows: largest[i] = ..            for i in rows:
//   for i in rows: for j: e[i, j] = ..          largest[i] = ..
//   for i in rows: total[i] = ..           =>   for j: e[i, j] = ..
//   for i in rows: for j: y[i, j] = ..          total[i] = ..
//                                               for j: y[i, j] = ..
#pragma once

#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// One loop nest that does the work of two in turn, or null. The outermost loops are fused, and within them further
// loops where that is possible. Fused loops are parallel loops of equal extent. An element that one nest stores and the
// other accesses must be accessed in the same iteration: all accesses of its buffer have the loop's variable as the
// index of one dimension.
Stmt fuse_rows(const Stmt& first, const Stmt& second);

}  // namespace dlcc::tensor
