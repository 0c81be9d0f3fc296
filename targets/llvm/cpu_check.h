// Emits the run-time check that selects one of the object's CPU levels.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "targets/target.h"

namespace dlcc::targets {

// The features of x86 CPUs, by LLVM's names, that the check can detect; sorted.
std::vector<std::string> features_with_check();

// Defines `int32 SYMBOL()`: the index of the best level that the CPU supports, or -1, cached in a hidden atomic
// variable. Null for targets with a single level that all their CPUs support.
llvm::Function* define_level_choice(llvm::Module&, const std::string& symbol, const Target&);

}  // namespace dlcc::targets
