// The order of axes.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// Axis `from` of the value is axis `to` of the result; the others keep their order. Both are in [0, rank).
Value with_axis_moved(Node&, const Value&, int64_t from, int64_t to);

}  // namespace dlcc::frontends::onnx
