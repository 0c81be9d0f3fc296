// Whether two modules are the same program.
#pragma once

#include "relay/ir.h"

namespace dlcc::relay {

// Whether the modules differ at most in names, but for those of functions, data types and constructors, and in source
// locations. So the order of operations (and with it their effects), attributes, layouts, types with the equations
// between their sizes and the sizes' bounds, and the elements of constants are the same. A type that is not known is
// the same only as another one.
bool structurally_equal(const Module&, const Module&);

}  // namespace dlcc::relay
