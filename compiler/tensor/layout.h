// Working with layouts: the index maps between logical tensors and their storage (Layout in ir.h).
#pragma once

#include "support/constant.h"
#include "tensor/ir.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

// Dimensions of the storage of a logical shape (static).
std::vector<int64_t> physical_shape(const Layout&, const std::vector<int64_t>& logical);

// Physical index of a logical one, simplified under `ranges`.
std::vector<Expr> physical_index(const Layout&, const std::vector<Expr>& logical, const Ranges& ranges = {});

// Logical index of a physical one: index[axis] = sum of parts * divisors. May lie beyond the logical extent in the
// tail.
std::vector<Expr> logical_index(const Layout&, int logical_rank, const std::vector<Expr>& physical);

// Splits one axis into blocks: [.., axis/block, .., axis%block] with the block innermost. Extents from `shape`.
Layout blocked_layout(const std::vector<int64_t>& shape, int axis, int64_t block, Layout::Tail tail);

// The layout with its parts spelled out, when it is dense.
Layout explicit_layout(Layout, const std::vector<int64_t>& logical);

// The part is stored with zeros before or behind its axis, whose extent is given; some part of the layout is.
bool has_halo(const Layout::Part&, int64_t extent);
bool has_halo(const Layout&, const std::vector<int64_t>& logical);

// The layout with zeros round it, so that indices wanted[d] of each logical axis d are stored, besides those that it
// stores already. Axes stored in blocks get no halo.
Layout with_halo(Layout, const std::vector<int64_t>& logical, const std::vector<Range>& wanted);

// All indices in the range have a place in the storage of the axis, inside of it or in its halo.
bool is_stored(const Layout&, int axis, int64_t extent, const Range&);

// The dense layout when the map keeps all elements in row-major order without padding, else the layout itself: a
// blocked image of one pixel is an ordinary vector.
Layout normalized(const Layout&, const std::vector<int64_t>& logical);

// The constant's elements in the order of the layout, tail elements zero.
Constant pack(const Constant&, const Layout&);

}  // namespace dlcc::tensor
