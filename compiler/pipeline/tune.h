// The tuner: measures tuning configurations on this machine. The model is compiled with the first candidate of every
// function, then with the second candidate of every function, and so on. Each of these models runs alternately with the
// model of default configurations. So every function is measured inside the network, with the caches as its neighbours
// leave them and weights that come from memory. The time of a function is the sum of the shortest times of its calls.
// Finally all winners run together against the default; those that are at least 3 % faster again are kept, provided
// that the whole network is faster.
#pragma once

#include <optional>

#include "pipeline/compile.h"

namespace dlcc {

// Returns the records of all functions of a module that was optimized with these options, for the best CPU level of the
// target that this machine supports. Empty, with diagnostics, when it supports none or the model does not run.
std::optional<TuningRecords> tune(const CompileOptions&, const relay::Module&, Diagnostics&);

}  // namespace dlcc
