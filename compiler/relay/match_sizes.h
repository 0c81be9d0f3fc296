// The values of a function's symbols at a call.
#pragma once

#include <map>
#include <string>

#include "relay/type.h"

namespace dlcc::relay {

// For each dimension of the parameter that is a single symbol, adds the argument's dimension as the value of this
// symbol, unless `sizes` has one already.
void match_sizes(const Shape& param, const Shape& argument, std::map<std::string, Dim>& sizes);
void match_sizes(const Type& param, const Type& argument, std::map<std::string, Dim>& sizes);

}  // namespace dlcc::relay
