// The products that several operators share.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// numpy.matmul: a vector is a row on the left and a column on the right; leading axes are broadcast.
Value matrix_product(Node&, Value a, Value b);

// alpha * A' * B' + beta * C with the inputs and attributes of Gemm. Integers times fractions are added in float64.
Value general_product(Node&);

}  // namespace dlcc::frontends::onnx
