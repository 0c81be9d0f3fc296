// The program of --emit=selftest: inputs drawn at random, and the outputs that the operators' definitions give for
// them.
#pragma once

#include <optional>
#include <string>

#include "pipeline/compile.h"

namespace dlcc {

// The program for a compiled model. `module` is the one that was lowered. Symbolic sizes have their typical values.
// Empty, with a diagnostic, for models with data-dependent sizes or a file of weights, and if the definitions give a
// status other than ok for these inputs.
std::optional<std::string> make_selftest(const relay::Module& module, const Planned&, Diagnostics&);

}  // namespace dlcc
