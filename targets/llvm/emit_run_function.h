// The run function of one CPU level, and the functions that it calls: control flow, kernel calls and copies.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "targets/llvm/emit_model.h"

namespace dlcc::targets {

// Defines `int32 SYMBOL(inputs, outputs, arena, context)`, which does not check its arguments. For a model with
// symbolic sizes, the fifth parameter is the array of emit_sizes.h. Defines the program's functions before it, as
// `int32 P_f3_LEVEL(operands..., results..., arena, context[, sizes])`. `cpu` is the CPU of the generated code. `debug`
// is null without -g.
llvm::Function* emit_run_function(llvm::Module&, const ModelParts&, size_t level, const std::string& symbol,
                                  const llvm::MCSubtargetInfo& cpu, DebugInfo* debug);

}  // namespace dlcc::targets
