// Building blocks of schedules: how reductions add values to accumulators, and the reduction of a row of values.
#pragma once

#include <functional>
#include <vector>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// value + sum. If `value` is a product of floats a * b and the machine has FMA: fma(a, b, sum).
Expr multiply_add(Expr value, Expr sum, const Machine&);

// `total` combined with `value`, in a reduction with one result.
Expr combined(const Reduction&, Expr total, Expr value, const Machine&);

// One result of a stage, with the lanes along the last reduced axis. `width` is a power of two:
//
//   partial[u, lane] = identity                                 # `count` vectors: see Machine::row_accumulators
//   for the other reduced axes: for groups of `count` vectors of the last one, then for its remaining vectors:
//     partial[u, lane] = combined(partial[u, lane], value)      # unrolled u
//   partial[u, lane] = partial[u, lane] combined with partial[u + half, lane]     # for halves of `count`, down to 1
//   partial[0, lane] = partial[0, lane] combined with partial[0, lane + half]     # for halves of the width, down to 1
//   store_total(partial[0, 0])
//
// If the size of the row is symbolic, a row shorter than Machine::row_accumulators vectors has a version with fewer.
Stmt reduce_along_row(const Stage&, const std::vector<Expr>& index, int64_t width, const Machine&,
                      const std::function<Stmt(const Expr& total)>& store_total);

}  // namespace dlcc::tensor
