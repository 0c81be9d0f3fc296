// Inputs for measurements: random tensors at sizes that the user chooses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/compile.h"
#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc {

struct RandomInputs {
  std::map<std::string, int64_t> symbols;  // the values of the interface's symbols
  std::vector<Constant> values;
};

// Inputs of the model with random elements. A symbolic size is that in `sizes`, by name, else the typical one. Empty,
// with diagnostics, if `sizes` has a name or a value that the model does not allow.
std::optional<RandomInputs> random_inputs(const Planned&, const std::map<std::string, int64_t>& sizes, Diagnostics&);

}  // namespace dlcc
