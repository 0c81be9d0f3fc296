// Upper bounds of dims by bounds of their symbols.
#pragma once

#include <map>
#include <string>

#include "shape/dim.h"

namespace dlcc {

// An upper bound of the dim: each symbol of `largest` is replaced by its largest value where the dim rises with it, and
// by 0 where it decreases. The values of all symbols are at least 0.
Dim largest_dim(const Dim&, const std::map<std::string, Dim>& largest);

}  // namespace dlcc
