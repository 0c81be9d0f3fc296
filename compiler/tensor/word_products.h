// Intrinsics for products of bytes whose factors are widened to 16-bit words before they are multiplied
// (schedules/inner_products.h), for machines that multiply widened data (tensor/byte_products.h). The words of some
// bytes are stored in two rows: those of the even bytes, then those of the odd ones. With n = 4, 8 or 16 lanes:
//
//   widen.u8.x16.global(bytes, words)          the words of sixteen bytes of data, in global memory
//   widen.s8.xn(bytes, words)                  the words of the weights of n lanes, four bytes each
//   inner4.u16s16.xn(data, weights, acc)       acc[lane] += the sum over two words of (even data + odd weights) *
//                                              (odd data + even weights); the data is the same in all lanes
//   pairs.u16.x4, pairs.s16.xn (words, acc)    acc[lane] += the sum over two words of even word * odd word
//
// x86 multiplies and adds words by `pmaddwd` (targets/llvm/emit_byte_products.cpp).
#pragma once

#include <functional>
#include <vector>

#include "tensor/intrinsic.h"

namespace dlcc::tensor {

// The emission rule of "inner4" and "pairs" (Intrinsic::emission); that of "widen" is widened_bytes_emission.
inline constexpr const char* word_products_emission = "word products";

// Word j < 2 of a lane's even words (odd = 0) or odd words (odd = 1), as a 16-bit integer.
using WordOfLane = std::function<Expr(int64_t odd, int64_t j)>;

// What one lane of "inner4" or "pairs" adds to its accumulator.
Expr inner_product_of_words(const WordOfLane& data, const WordOfLane& weights);
Expr products_of_neighbouring_words(const WordOfLane&);

const std::vector<const Intrinsic*>& word_products();

}  // namespace dlcc::tensor
