// The control skeleton of a program for one CPU level: kernel calls, copies, branches and loops over values in memory.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "targets/llvm/emit_model.h"

namespace dlcc::targets {

// Defines `int32 SYMBOL(inputs, outputs, arena, context)`, which trusts its arguments.
llvm::Function* emit_skeleton(llvm::Module&, const ModelParts&, size_t level, const std::string& symbol, DebugInfo*);

}  // namespace dlcc::targets
