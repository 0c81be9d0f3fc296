// Passes that shrink the scratch of a scheduled kernel.
#pragma once

#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Makes a buffer of `scratch` local to a loop, and removes it from `scratch`, if in each of the kernel bodies one loop
// has all accesses of the buffer, each iteration accesses one row of it, and the row is static and has at most
// `max_bytes`. It is the outermost such loop. Operands of intrinsics stay where the intrinsic expects them.
void contract_scratch(std::vector<Stmt>& bodies, std::vector<Buffer>& scratch, int64_t max_bytes);

// Gives buffers of `scratch` the size of one row, in kernels for one thread: if in each of the kernel bodies the nested
// loops around all accesses of the buffer access one row in each iteration, their iterations run in turn and use the
// same memory. The row may have a symbolic size. The buffers have the default layout.
void reuse_rows(std::vector<Stmt>& bodies, std::vector<Buffer>& scratch);

// Stores buffers of `scratch` in the memory of results, or of other scratch, of equal type and shape, and removes them
// from `scratch`: the exponentials of a softmax are stored where its quotients will be. Buffer A may be stored in the
// memory of B if each element of B is stored once, either after the last access of A's element at the same index or as
// a function of that element. Returns the results whose memory holds another buffer: nothing else may be in that
// memory, such as an operand that the kernel would overwrite.
std::vector<Buffer> share_memory(std::vector<Stmt>& bodies, std::vector<Buffer>& scratch,
                                 const std::vector<Buffer>& results);

}  // namespace dlcc::tensor
