// The first computations of a run, on the sizes that the caller gives and on elements of inputs: the values of the
// program's symbols, the check that the sizes are allowed, and the offsets of a stacked arena.
//
// Nothing overflows. Each given size is at most 2^40. A tensor has at most 2^40 elements; the magnitude of every
// element count, which is computed in float64 with the absolute values of all terms, is checked before the count.
#pragma once

#include <vector>

#include "lower/plan.h"
#include "lower/program.h"

namespace dlcc::lower {

struct EntrySizes {
  std::vector<tensor::Var> given;  // int64, the caller's number for each of the program's dims
  Region steps;                    // Read steps of inputs, Compute and Require steps over `given`
  // Over `given` and the scalars of the steps.
  std::vector<tensor::Expr> symbols;  // one for each of the program's entry_symbols
  // For each function, and last for the program: the offset in bytes of each block of a stacked arena, and the size of
  // the arena.
  std::vector<std::vector<tensor::Expr>> blocks;
  std::vector<tensor::Expr> arenas;
};

EntrySizes entry_sizes(const Program&, const StoragePlan&);

}  // namespace dlcc::lower
