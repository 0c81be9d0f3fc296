// Cutting a tensor into pieces, which Split and SplitToSequence share.
#pragma once

#include <vector>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// The pieces of the first input along an axis. Their sizes must add up to the size of the axis. This is checked at run
// time if the size is symbolic.
Values split_into(Node&, const std::vector<int64_t>& sizes, int64_t axis);

}  // namespace dlcc::frontends::onnx
