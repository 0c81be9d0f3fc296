// Splits axes at whose quotients and remainders operands are read, so that a kernel divides no index.
#pragma once

#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Splits an axis into two where an index has its quotient or remainder by a size that divides its extent:
//
//   result[i < n * w, k] = x[floordiv(i, w), floormod(i, w), k]
// =>
//   result[o < n, r < w, k] = x[o, r, k]
//
// A reshape of symbolic sizes that is fused with a transposition, as where an image is cut into windows, has such
// indices. An index pair x[floordiv(e, w), floormod(e, w)] into dimensions [h, w] becomes x[e] of one dimension [h *
// w]. Shapes of parameters and results change, their memory does not. `layouts` are those of the parameters, then of
// the results; only dense tensors change. The vector loop along the innermost axis stays as it is. Functions without
// symbols, with several stages, a reduction or a body stay as they are, too.
void split_axes(TensorFunction&, const std::vector<Layout>& layouts);

}  // namespace dlcc::tensor
