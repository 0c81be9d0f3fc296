// The schedule of products whose columns (N), or whose K, are symbolic, such as those of attention: q[b, s, 64] times
// k[b, 64, s], and p[b, s, s] times v[b, s, 64]. Register tiles read both factors in place. M and N are strip-mined
// into whole tiles and tiles of each smaller power of two; the loop over K has any extent:
//
//   parallel batch:
//     parallel vectors of N: whole tiles, then 1/2, 1/4, .. of a tile
//       parallel rows of M: whole tiles, then 1/2, 1/4, .. of a tile
//         acc[rows, vectors, lanes] = 0                                # registers
//         for k: acc[m, v, lane] += data[m, k] * weights[k, v * lanes + lane]
//         result[m, n] = epilogue(acc)
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tensor/analysis.h"
#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// The contraction that this schedule handles: the function has symbols, the N axis is the innermost dimension of the
// weights and of the result, the axis before it is M, and all storage is dense. Empty if there is none.
std::optional<Contraction> find_symbolic_contraction(const TensorFunction&, const std::map<Buffer, Layout>&,
                                                     const std::vector<bool>& constant);

Stmt schedule_symbolic_contraction(const TensorFunction&, const Contraction&, const Machine&);

}  // namespace dlcc::tensor
