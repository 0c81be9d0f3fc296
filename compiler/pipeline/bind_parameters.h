// Parameters of a program whose values are known when it is compiled: --params FILE.npz.
#pragma once

#include <string>
#include <vector>

#include "relay/ir.h"
#include "support/npz.h"

namespace dlcc {

// Puts each array in place of the parameter of @main with its name. A size that the parameter's type names is that of
// the array, everywhere in @main. False, with diagnostics, if there is no such parameter or its type is another one.
bool bind_parameters(relay::Module&, const std::vector<NamedArray>&, const std::string& file, Diagnostics&);

}  // namespace dlcc
