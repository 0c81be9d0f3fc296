// The parts of a sum that can be bounded one by one.
#pragma once

#include <vector>

#include "shape/dim.h"

namespace dlcc {

// Splits the dim into a sum of dims of which no two have a symbol in common, and no assumption has symbols of both. The
// least value of the dim is the sum of the least values of its parts. A constant is a part of its own.
std::vector<Dim> independent_parts(const Dim&, const std::vector<Dim>& assumptions);

}  // namespace dlcc
