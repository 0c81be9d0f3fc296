// Emits the run-time check that selects one of the object's CPU levels.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "targets/target.h"

namespace dlcc::targets {

// Defines `int32 SYMBOL()`: the index of the best level that the CPU supports, or -1, cached in a hidden atomic
// variable. Null for an object without a check (Target::level_detection).
llvm::Function* define_level_choice(llvm::Module&, const std::string& symbol, const Target&);

}  // namespace dlcc::targets
