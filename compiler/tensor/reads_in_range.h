// Reads of a definition that are out of bounds for certain.
#pragma once

#include <optional>
#include <string>

#include "tensor/ir.h"

namespace dlcc::tensor {

// A message on the first load of the stage that leaves its buffer: "x[i + 4] reads index 11 of axis 0, which has 8
// elements". Empty if there is none for certain: sizes are symbolic, an index is no sum of multiples of axes, or a
// selection, an `else` or a requirement decides whether the element is read.
std::optional<std::string> read_out_of_range(const Stage&);

}  // namespace dlcc::tensor
