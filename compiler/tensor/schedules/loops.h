// Building blocks of schedules: loop nests over the storage order of a tensor.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/integers.h"
#include "tensor/ir.h"

namespace dlcc::tensor {

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

// Stores a value in the halo of a tensor; null when its layout has none.
Stmt fill_halo(const Buffer&, const Layout&, const Expr& value);
Stmt zero_halo(const Buffer&, const Layout&);

// Strip-mines a loop: a loop of kind `kind` over vectors of `width` iterations, then the remainder. vector(begin,
// lanes) gives the statement for the iterations [begin, begin + lanes). If the extent is constant, the remainder is one
// statement. If it is symbolic, `width` must be a power of two, and the remainder is one statement for each smaller
// power of two, under a condition.
Stmt in_vectors(const Dim& extent, int64_t width, LoopKind kind,
                const std::function<Stmt(const Expr& begin, int64_t lanes)>& vector);

// A vector loop over `count` elements, strip-mined by channel_block if `count` is symbolic.
Stmt vector_loop(const Dim& count, const std::string& name, const std::function<Stmt(const Expr& i)>& body);

// Cuts a loop of any extent into tiles: a parallel loop over tiles of `size` iterations, then at most one tile of each
// smaller size: size / 2, size / 4, .., 1, rounded up.
Stmt in_halved_tiles(const Expr& extent, int64_t size,
                     const std::function<Stmt(const Expr& begin, int64_t size)>& tile);

// The same tiles for the pixels of an image. A `size` of at least 7 is first reduced to a multiple of 7, since the
// image sizes of networks for 224 x 224 pixels are 112, 56, 28, 14 and 7.
Stmt in_tiles(const Expr& extent, int64_t size, const std::function<Stmt(const Expr& begin, int64_t size)>& tile);

// An expression of the stage, with the stage's axes replaced by `index`.
Expr at_index(const Expr&, const Stage&, const std::vector<Expr>& index);

}  // namespace dlcc::tensor
