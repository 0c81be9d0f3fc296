// The softmax of older operator sets.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// nn.softmax or nn.log_softmax over all axes from the attribute `axis` on, as before operator set 13.
Value flattened_softmax(Node&, const char* relay_op, const Value& x, int64_t default_axis = 1);

}  // namespace dlcc::frontends::onnx
