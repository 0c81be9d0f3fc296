// Sizes of inputs that every run refuses.
#pragma once

#include <map>
#include <string>

#include "relay/ir.h"
#include "shape/size_range.h"

namespace dlcc {

// The sizes of @main's inputs whose smallest values every run refuses, because a size that is required outside of
// branches and loops would be negative: with a window of 3 rows, a symbolic height is at least 3. The result has the
// ranges without these values, by name of the size. Importing the module with them can give simpler types: for s >= 3,
// (s - 3) / 2 rounds down, as the number of windows does. A size with fewer than two accepted values is left out.
std::map<std::string, SizeRange> ranges_of_accepted_sizes(const relay::Module&);

}  // namespace dlcc
