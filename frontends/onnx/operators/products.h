// The product that MatMul and its quantized forms share.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// numpy.matmul: a vector is a row on the left and a column on the right; leading axes are broadcast.
Value matrix_product(Node&, Value a, Value b);

}  // namespace dlcc::frontends::onnx
