// Random numbers of nodes.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// Dropout: the data with each element set to 0 with probability `ratio` and the others divided by 1 - ratio, where the
// scalar `trains` is true; and whether each element is kept.
Values drop_elements(Node&, const Value& data, const Value& ratio, const Value& trains);

}  // namespace dlcc::frontends::onnx
