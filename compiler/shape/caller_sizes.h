// Texts for users about sizes, in units of the caller's sizes. A caller's size is InputDim::multiple times its symbol.
#pragma once

#include <string>
#include <vector>

#include "shape/input_dim.h"

namespace dlcc {

// The values that the caller may give: "in [8, 64] and a multiple of 8", "at least 1".
std::string bounds_of(const InputDim&);

// The dim as an expression over the caller's sizes in place of the symbols: 2 * h for 64 * h_by_32.
Dim in_caller_sizes(const Dim&, const std::vector<InputDim>&);

}  // namespace dlcc
