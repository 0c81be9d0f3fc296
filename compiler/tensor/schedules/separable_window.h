// Separable windows: a reduction of all elements of a window, as in pooling, is divided in two stages. The first
// reduces along the columns of the image, the second reduces the partial results along the rows:
//
//   result[y, x] = reduce (r, s): value(image[y * stride + r, x * stride + s])
// =>
//   columns[b, y, c] = reduce r: value(image[(b * block + y) * stride + r, first + c])
//   result[y, x] = reduce s: columns[floordiv(y, block), floormod(y, block), x * stride + s - first]
//
// A 5x5 window takes 10 operations for each result instead of 25, and fewer loads of strided elements, which are slow.
// Both stages run block by block of rows (passes/fuse_rows.h), so that the partial results stay in the cache. A block
// has so many rows that the processor has written most of them to the cache when the second stage reads them: a vector
// that is loaded across two stores that are still in the store buffer waits for them. The last block may have rows
// after the last row of the result, which the second stage does not read. Images of symbolic size have no blocks:
//
//   columns[y, c] = reduce r: value(image[y * stride + r, first + c])
//   result[y, x] = reduce s: columns[y, x * stride + s - first]
#pragma once

#include <map>

#include "tensor/ir.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// Divides each stage of the function whose window is separable, where that saves operations. The image is dense, and
// the window has a static size; elements outside of it leave the reduction unchanged. `layouts` of parameters and
// results (absent: dense); the machine is the storage machine.
void separate_windows(TensorFunction&, const std::map<Buffer, Layout>& layouts, const Machine&);

}  // namespace dlcc::tensor
