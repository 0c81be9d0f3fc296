// Finds loads of a definition that are certainly out of bounds.
#pragma once

#include <optional>
#include <string>

#include "tensor/ir.h"

namespace dlcc::tensor {

// A message about the first load of the stage that is out of bounds: "x[i + 4] reads index 11 of axis 0, which has 8
// elements". Empty if no load is certainly out of bounds. A load may be in bounds if sizes are symbolic, if an index is
// not a sum of multiples of axes, or if a select, an `else` or a requirement decides whether the element is read.
std::optional<std::string> read_out_of_range(const Stage&);

}  // namespace dlcc::tensor
