// Texts about sizes in the numbers that the caller gives, which are multiples of the symbols.
#pragma once

#include <string>
#include <vector>

#include "shape/input_dim.h"

namespace dlcc {

// "in [8, 64] and a multiple of 8", "at least 1"
std::string bounds_of(const InputDim&);

// The dim as an expression of the caller's numbers instead of the symbols, for people: 2 * h instead of 64 * h_by_32.
Dim in_caller_sizes(const Dim&, const std::vector<InputDim>&);

}  // namespace dlcc
