// The sizes of a function's symbols at a call.
#pragma once

#include <map>
#include <string>

#include "relay/type.h"

namespace dlcc::relay {

// Adds the sizes of the symbols that are dimensions of a parameter: those of the argument. Sizes that are there already
// stay.
void match_sizes(const Shape& param, const Shape& argument, std::map<std::string, Dim>& sizes);
void match_sizes(const Type& param, const Type& argument, std::map<std::string, Dim>& sizes);

}  // namespace dlcc::relay
