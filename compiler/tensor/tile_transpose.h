// The transposition of a square tile of elements of 8, 16 or 32 bits as an intrinsic: to[i, .., j] = from[j, .., i].
// The code generator loads the tile's rows into vector registers and moves elements between pairs of them
// (targets/llvm/emit_tile_transpose.cpp).
#pragma once

#include "tensor/intrinsic.h"

namespace dlcc::tensor {

// The emission rule of these intrinsics (Intrinsic::emission).
inline constexpr const char* tile_transpose_emission = "tile transpose";

// The most dimensions between the rows and the columns of a tile.
inline constexpr int max_dims_between = 2;

// "transpose.f32.x8.1.0" and so on: the intrinsic for tiles of size x size elements in boxes of the last dimensions of
// the operands `from` and `to`. The rows of a tile are neighbours along one dimension, its columns along the last one,
// and `from_between` and `to_between` dimensions lie between these. Rows have 16 bytes, or 32 if elements have 32 bits.
// Null for other sizes and element types, and for more than max_dims_between.
const Intrinsic* tile_transpose(DType, int64_t size, int from_between, int to_between);

const std::vector<Intrinsic>& tile_transposes();  // all of them

}  // namespace dlcc::tensor
