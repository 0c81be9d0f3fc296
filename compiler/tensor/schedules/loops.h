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

// Bytes of a tensor in dense storage. Of a symbolic shape: the largest, at most 2^44.
int64_t bytes_of(const Buffer&);

// The layout of the buffer; dense when none is given.
Layout layout_of(const std::map<Buffer, Layout>&, const Buffer&);

// A loop nest over the storage of a tensor, without its halo: one loop for each part of its layout, outermost first,
// and the logical index that the loop variables give.
struct StorageLoops {
  std::vector<Var> vars;
  Shape extents;
  std::vector<Expr> index;  // per logical axis, from the loop variables

  // Wraps `body` in the loops [first, last); the last of them has kind `innermost`. Elements are independent.
  Stmt wrap(Stmt body, size_t first, size_t last, LoopKind innermost = LoopKind::parallel) const;
  // Wraps `body` in all loops, of which the innermost is a vector loop, strip-mined if its extent is symbolic.
  Stmt in_vectors(const Stmt& body) const;
};
StorageLoops storage_loops(const Layout&, const Shape&);

// Stores zeros in the halo of a tensor; null when its layout has none.
Stmt zero_halo(const Buffer&, const Layout&);

// Strip-mines a loop: vectors of `width` iterations, in a loop of kind `kind`, then the rest. `vector` gives the
// statement for `lanes` iterations from `begin` on. An extent that is a number has one statement for the rest, a
// symbolic one a vector for each smaller power of two, under a condition; `width` is a power of two then.
Stmt in_vectors(const Dim& extent, int64_t width, LoopKind kind,
                const std::function<Stmt(const Expr& begin, int64_t lanes)>& vector);

// Cuts a loop into tiles: whole tiles in a parallel loop, then at most one tile each of half of
// `size`, a quarter, .., 1, rounded up. A `size` of at least 7 is reduced to a multiple of 7: networks for images of
// 224 x 224 pixels halve them to 112, 56, 28, 14 and 7.
Stmt in_tiles(const Expr& extent, int64_t size, const std::function<Stmt(const Expr& begin, int64_t size)>& tile);

// Whether the buffer is larger than so many bytes. One of symbolic size counts as large.
bool is_larger(const Buffer&, int64_t bytes);

// The number that estimates assume for a size of an image: its symbols are 224, or their bound next to it, since most
// networks for images are made for 224 x 224 pixels. At least 1.
int64_t typical_image_size(const Dim&);

// The stage's expression at an index: axes replaced.
Expr at_index(const Expr&, const Stage&, const std::vector<Expr>& index);

// value + sum; of a product of floats, on a machine that has it, a fused multiply-add.
Expr multiply_add(Expr value, Expr sum, const Machine&);

}  // namespace dlcc::tensor
