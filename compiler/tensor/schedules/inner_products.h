// Products of bytes on machines that multiply 16-bit numbers (multiplies_widened_data). Both factors are widened to
// words before the loops over register tiles, so that a tile only multiplies. And one multiplication is for two K
// indices (S. Winograd, "A New Algorithm for Inner Product", 1968):
//
//   a0 b0 + a1 b1 = (a0 + b1) (a1 + b0) - a0 a1 - b0 b1
//
// The last two terms are summed up once for each pixel and once for each N index. Everything is exact: the sums of two
// factors have at most ten bits, and what overflows in int32 cancels. `pmaddwd` and the addition of its result take as
// many instructions for four K indices as without this, but half of the multiplications become additions, for which
// CPUs have more units: on Zen 4, 108 in place of 94 products each nanosecond.
//
//   parallel pixel: data_words[pixel, k] = data[pixel, k]                 # for each group of sixteen K indices, the
//                                                                         # even ones, then the odd ones
//                   row_products[pixel] = sum of data_words[pixel, k] data_words[pixel, k + 1], k even
//   parallel block of pixels: parallel panel: for the N indices of a register tile:
//     column_products[n] = 0
//     for range of K:
//       weight_words[k, n] = panels[panel, k, n];  column_products[n] += weight_words[k, n] weight_words[k + 1, n]
//       for tile of the block: total[tile] += the products, without the last two terms
//     result = epilogue(total[pixel, n] - row_products[pixel] - column_products[n])
//
// If one range has all of K, sums stay in registers, as with other contractions.
#pragma once

#include "tensor/schedules/contraction.h"

namespace dlcc::tensor {

// Adds the words and the row products to a plan whose data has the given layout, if it is worth while: products of
// bytes whose data is stored in groups of sixteen neighbouring K indices, with enough pixels and N indices to read each
// word several times.
void plan_inner_products(ContractionPlan&, const Layout& of_data);

// The weights of one register tile, widened: their words, [K blocks, taps, K indices of a block / 4, vectors, 2 (even,
// odd), 2 * lanes], and the sums of the products of neighbours, [vectors, lanes].
struct WeightWords {
  Buffer words, column_products;
  Expr first_block;  // the K block that comes first in `words`
};

}  // namespace dlcc::tensor
