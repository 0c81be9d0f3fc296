// The schedule of transpositions: a stage whose elements are those of one operand, with the rows of the operand along
// the innermost axis of the result. Tiles are transposed in registers (tensor/tile_transpose.h), `count` at a time,
// which write a cache line of each row of the result:
//
//   parallel other axes:
//     parallel j in columns / (count * tile size): for i in rows / tile size: unrolled u in count:
//       result[rows of tile i, columns of tile (j, u)] = operand[columns of tile (j, u), rows of tile i]   # transposed
//     the last tiles of the columns; the remaining columns, if there are any, and rows, element by element
//
// If rows of the result share a set of the first-level cache, the loops over rows and columns are exchanged.
// Rows and columns are those of the result. Operands are read as they are stored.
#pragma once

#include <map>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// The loops of a transposition; null for other stages, for storage that is not dense, for elements without an intrinsic
// and for fewer rows or columns than a tile has.
Stmt schedule_transpose(const Stage&, const std::map<Buffer, Layout>& layouts, const Machine&);

// Whether schedule_transpose computes the stage, where its operand and its result are dense.
bool is_transposed_in_tiles(const Stage&, const Machine&);

// Lets a function that only moves elements of an image in channel blocks into a dense result read the image as it is
// stored, x[n, floordiv(c, 16), pixel, floormod(c, 16)], so that tiles of channels and pixels are transposed. Returns
// the buffer that its stage reads in place of the parameter; null for other functions. `layouts` as in merge_axes.h.
Buffer read_blocks_as_stored(TensorFunction&, const std::vector<Layout>& layouts);

}  // namespace dlcc::tensor
