// dlcc run --interpret: runs a model with the interpreter of relay/interpret.h.
#pragma once

#include <string>
#include <vector>

#include "pipeline/compile.h"

namespace dlcc::driver {

// Interprets the imported model and prints the value of @main as text. Each of `inputs` is NAME=VALUE, or VALUE for the
// parameter at its position; VALUE is a file (.npy or .pb) or a Relay expression of the parameter's type, in which the
// constructors of the model may be used. False, with diagnostics, when there is no value after `max_steps` steps.
bool interpret_and_print(Compiler&, const std::vector<std::string>& inputs, int64_t max_steps, Diagnostics&);

}  // namespace dlcc::driver
