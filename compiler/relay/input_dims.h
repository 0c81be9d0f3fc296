// The sizes that the caller of a module's @main gives.
#pragma once

#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

// One size for each symbol in the types of @main's parameters, in order of appearance: the entry of Module::dims if the
// symbol has one, else a size with the symbol's name and bounds. A module without @main has none.
std::vector<InputDim> input_dims(const Module&);

// Reports symbols of @main's parameters for which no axis is linear in the symbol alone: the shapes of the inputs do
// not determine such sizes.
void check_input_dims(const Module&, Diagnostics&);

}  // namespace dlcc::relay
