// Code that finds out at run time which of the compiled CPU levels this CPU supports.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "targets/target.h"

namespace dlcc::targets {

// Defines `int32 SYMBOL()`: the index of the best level that the CPU supports, or -1. The answer is kept in a hidden
// atomic variable. Null when every CPU of the target supports the first level and there is no other one to choose.
llvm::Function* define_level_choice(llvm::Module&, const std::string& symbol, const Target&);

}  // namespace dlcc::targets
