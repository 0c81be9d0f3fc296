// Operators that find the sizes of their results when they run.
#pragma once

#include <set>

#include "relay/ir.h"

namespace dlcc::relay {

// The ids of variables whose operation is a call of an operator and whose type has a symbol that no parameter, no
// binding before and no define_sizes of the function has: the value of the call gives the symbol its size. After
// define-sizes there are only those for which there is no native code.
std::set<int> variables_with_found_sizes(const Function&);

}  // namespace dlcc::relay
