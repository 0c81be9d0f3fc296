// Finds loads of a definition that are out of bounds for some sizes.
#pragma once

#include <optional>
#include <string>

#include "tensor/ir.h"

namespace dlcc::tensor {

// A message about the first load of the stage that is out of bounds: "x[i + 4] reads index 11 of axis 0, which has 8
// elements", or for symbolic sizes "b[i] reads index n - 1 of axis 0, which has m elements". Empty if none is found: a
// load is not tested if an index is not a sum of multiples of axes and symbols, if a size is not a sum of symbols, or if
// a select, an `else` or a requirement decides whether the element is read. An index with symbols is found only if it is
// out of bounds for all sizes.
std::optional<std::string> read_out_of_range(const Stage&);

}  // namespace dlcc::tensor
