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

// Makes a buffer of `scratch` local to a loop, and removes it from `scratch`, if in each of the kernel bodies one loop
// has all accesses of the buffer, each iteration accesses one row of it, and the row is static and has at most
// `max_bytes`. It is the outermost such loop. Operands of intrinsics stay where the intrinsic expects them.
void contract_scratch(std::vector<Stmt>& bodies, std::vector<Buffer>& scratch, int64_t max_bytes);

}  // namespace dlcc::tensor
