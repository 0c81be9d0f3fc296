// Compares the inputs of a run with the interface of the model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emit/interface.h"
#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc::targets {

using SymbolValues = std::map<std::string, int64_t>;  // by name

// The values of the interface's symbols for these inputs. Empty, with diagnostics, if the number, a type or a shape of
// the inputs does not fit, or if two axes give different values for a symbol.
std::optional<SymbolValues> match_inputs(const emit::Interface&, const std::vector<Constant>& inputs, Diagnostics&);

// The sizes in the order and units in which a caller gives them.
std::vector<int64_t> caller_sizes(const emit::Interface&, const SymbolValues&);

}  // namespace dlcc::targets
