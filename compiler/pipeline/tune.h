// Measures on this machine what schedules may choose. The model is compiled with every function's first candidate,
// then with every second one, and so on; each is run in turn with the model as estimated, so that all functions work in
// the network, with the caches as their neighbours leave them and weights that come from memory. What a function gains
// is counted on the shortest times of its calls. The winners then run together against the estimate, and only those
// that are clearly faster again are kept, if the network as a whole gains.
#pragma once

#include <optional>

#include "pipeline/compile.h"

namespace dlcc {

// The records of all functions of a module that was optimized with these options, for the best CPU level of their
// target. Empty, with diagnostics, when this machine cannot run its code or the model does not run.
std::optional<TuningRecords> tune(const CompileOptions&, const relay::Module&, Diagnostics&);

}  // namespace dlcc
