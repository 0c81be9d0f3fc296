// Inputs for measurements: random tensors at sizes that the user chooses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emit/interface.h"
#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc {

// Inputs of the model with random elements. A symbolic size has its value in `sizes`, by name, else its typical value.
// Empty, with diagnostics, if a size has neither, or if `sizes` has a name or a value that the model does not allow.
std::optional<std::vector<Constant>> random_inputs(const emit::Interface&, const std::map<std::string, int64_t>& sizes,
                                                   Diagnostics&);

}  // namespace dlcc
