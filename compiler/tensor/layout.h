// Layouts as index maps between logical and physical tensors (Layout in ir.h).
#pragma once

#include "support/constant.h"
#include "tensor/ir.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

// The extents of the physical dimensions.
Shape physical_shape(const Layout&, const Shape& logical);

// The physical index of a logical index, simplified under `ranges`.
std::vector<Expr> physical_index(const Layout&, const std::vector<Expr>& logical, const Ranges& ranges = {});

// The logical index of a physical index: index[axis] is the sum of part index * divisor over the axis' parts. It is out
// of range in the tail and in a halo.
std::vector<Expr> logical_index(const Layout&, int logical_rank, const std::vector<Expr>& physical);

// The layout of a tensor of shape `shape` with one axis in blocks, and the block innermost: parts (.., axis / block,
// .., axis mod block). The extent of that axis must be constant.
Layout blocked_layout(const Shape& shape, int axis, int64_t block, Layout::Tail tail);

// The layout of a tensor of shape `shape` with one axis innermost and the others in order: NHWC of NCHW for axis 1.
Layout layout_with_last(const Shape& shape, int axis);

// The layout with all parts listed: the dense layout gets one part for each axis.
Layout explicit_layout(Layout, const Shape& logical);

// Whether a part, whose axis has the given extent, is stored with a halo; whether any part of a layout is.
bool has_halo(const Layout::Part&, const Dim& extent);
bool has_halo(const Layout&, const Shape& logical);

// The number of elements before the first index of an axis, and after its last index, that are read or stored. -n:
// the n elements at this end of the axis are not read.
struct Halo {
  int64_t before = 0, after = 0;
};

// The smallest halo around [0, extent) that contains a range of indices.
Halo beyond(const Range&, int64_t extent);

// The layout with its halo extended so that wanted[d] is stored around each logical axis d. Axes stored in blocks get
// no halo.
Layout with_halo(Layout, const Shape& logical, const std::vector<Halo>& wanted);

// Whether the layout stores at least `halo` around the indices of an axis of the given extent.
bool is_stored(const Layout&, int axis, const Dim& extent, const Halo&);

// The dense layout if the layout stores all elements in row-major order without padding, as a blocked layout does for
// an image of one pixel; else the layout itself.
Layout normalized(const Layout&, const Shape& logical);

// The constant's elements in the order of the layout; elements of halo and tail are zero.
Constant pack(const Constant&, const Layout&);

}  // namespace dlcc::tensor
