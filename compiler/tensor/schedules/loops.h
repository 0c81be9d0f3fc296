// Building blocks of schedules: loop nests over the storage order of a tensor.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "support/integers.h"
#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// The scalar parameters of a function's kernels: its own, then a variable for each symbol, sorted by name.
std::vector<Var> scalars_of_kernel(const TensorFunction&);

// Bytes of a tensor in dense storage; for a symbolic shape the upper bound, at most 2^44.
int64_t bytes_of(const Buffer&);

// The layout of the buffer in the map; the dense layout if the map has none.
Layout layout_of(const std::map<Buffer, Layout>&, const Buffer&);

// A loop nest over the storage of a tensor without its halo: one loop for each part of its layout, outermost first.
struct StorageLoops {
  std::vector<Var> vars;
  Shape extents;
  std::vector<Expr> index;  // the logical index, as expressions of the loop variables

  // Wraps `body` in the loops [first, last). The innermost has kind `innermost`, the others are parallel: the elements
  // must be independent.
  Stmt wrap(Stmt body, size_t first, size_t last, LoopKind innermost = LoopKind::parallel) const;
  // Wraps `body` in all loops, of which the innermost is a vector loop, strip-mined if its extent is symbolic.
  Stmt in_vectors(const Stmt& body) const;
};
StorageLoops storage_loops(const Layout&, const Shape&);

// Stores zeros in the halo of a tensor; null when its layout has none.
Stmt zero_halo(const Buffer&, const Layout&);

// Strip-mines a loop: a loop of kind `kind` over vectors of `width` iterations, then the remainder. vector(begin,
// lanes) gives the statement for the iterations [begin, begin + lanes). If the extent is constant, the remainder is one
// statement. If it is symbolic, `width` must be a power of two, and the remainder is one statement for each smaller
// power of two, under a condition.
Stmt in_vectors(const Dim& extent, int64_t width, LoopKind kind,
                const std::function<Stmt(const Expr& begin, int64_t lanes)>& vector);

// Cuts a loop into tiles: a parallel loop over tiles of `size` iterations, then at most one tile of each smaller size:
// size / 2, size / 4, .., 1, rounded up. A `size` of at least 7 is first reduced to a multiple of 7, since the image
// sizes of networks for 224 x 224 pixels are 112, 56, 28, 14 and 7.
Stmt in_tiles(const Expr& extent, int64_t size, const std::function<Stmt(const Expr& begin, int64_t size)>& tile);

// Whether the buffer has more than `bytes` bytes; true for a buffer of symbolic size.
bool is_larger(const Buffer&, int64_t bytes);

// The value of a size of an image in estimates: its symbols count as 224, or as their bound next to 224, since most
// networks for images are made for 224 x 224 pixels. At least 1.
int64_t typical_image_size(const Dim&);

// An expression of the stage, with the stage's axes replaced by `index`.
Expr at_index(const Expr&, const Stage&, const std::vector<Expr>& index);

// value + sum. If `value` is a product of floats a * b and the machine has FMA: fma(a, b, sum).
Expr multiply_add(Expr value, Expr sum, const Machine&);

// One result of a stage, with the lanes along the last reduced axis. `width` is a power of two:
//
//   partial[u, lane] = identity                                 # `count` vectors: see Machine::row_accumulators
//   for the other reduced axes: for groups of `count` vectors of the last one, then for its remaining vectors:
//     partial[u, lane] = combined(partial[u, lane], value)      # unrolled u
//   partial[u, lane] = partial[u, lane] combined with partial[u + half, lane]     # for halves of `count`, down to 1
//   partial[0, lane] = partial[0, lane] combined with partial[0, lane + half]     # for halves of the width, down to 1
//   store_total(partial[0, 0])
Stmt reduce_along_row(const Stage&, const std::vector<Expr>& index, int64_t width, const Machine&,
                      const std::function<Stmt(const Expr& total)>& store_total);

// `total` combined with `value`, in a reduction with one result.
Expr combined(const Reduction&, Expr total, Expr value, const Machine&);

}  // namespace dlcc::tensor
