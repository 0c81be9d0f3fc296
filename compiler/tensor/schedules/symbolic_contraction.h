// The schedule of products whose N or K is symbolic, such as those of attention: q[b, s, 64] times
// k[b, 64, s], and p[b, s, s] times v[b, s, 64]. Register tiles read both factors in place. M and N are strip-mined
// into whole tiles and tiles of each smaller power of two; the loop over K has any extent:
//
//   parallel batch:
//     parallel vectors of N: whole tiles, then 1/2, 1/4, .. of a tile
//       parallel rows of M: whole tiles, then 1/2, 1/4, .. of a tile
//         acc[rows, vectors, lanes] = 0                                # registers
//         for k: acc[m, v, lane] += data[m, k] * weights[k, v * lanes + lane]
//         result[m, n] = epilogue(acc)
//
// Weights of which N is not the innermost dimension, such as those of q[b, s, 64] times k[b, s, 64] transposed, are
// packed before, in panels of `panel_width` N indices. For a few rows of M, dot products of the factors as they are
// stored are faster than packing:
//
//   if M <= 4: parallel batch, n, m: result[m, n] = epilogue(sum over k, in vectors, of data[m, k] * weights[n, k])
//   else:      panels[n / panel_width, k, n % panel_width] = weights[n, k]; the loops above, which read the panels
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tensor/analysis.h"
#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

struct SymbolicContraction {
  Contraction found;
  Stage products;    // the stage of the contraction; reads `panels`, if there are any, in place of the weights
  Buffer panels;     // scratch, [N / panel_width + 1, dimensions of the weights but N, panel_width]; null: not packed
  size_t n_dim = 0;  // the dimension of the weights that is N
  bool has_rows_of_k = false;  // with `panels`: K is the innermost dimension of both factors
};

// The contraction that this schedule handles: the function has symbols, the N axis is innermost in the result and not
// of extent 1, the axis before it is M, one dimension of the weights is N, and all storage is dense. Empty if there is
// none.
std::optional<SymbolicContraction> plan_symbolic_contraction(const TensorFunction&, const std::map<Buffer, Layout>&,
                                                             const std::vector<bool>& constant,
                                                             const Machine& storage_machine);

Stmt schedule_symbolic_contraction(const TensorFunction&, const SymbolicContraction&, const Machine&);

}  // namespace dlcc::tensor
