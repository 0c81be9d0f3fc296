// The run function and the functions that it calls: control flow, kernel calls and copies.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "targets/llvm/emit_model.h"

namespace dlcc::targets {

// Defines `int32 SYMBOL(inputs, outputs, arena, context[, sizes][, level])`, which does not check its arguments.
// `sizes` is the array of emit_sizes.h, for a model with symbolic sizes; `level` is the index of the CPU's level, an
// int32, for a target with several: it selects the code of each kernel. Defines the program's functions before it, as
// `int32 P_f3(operands..., results..., arena, context[, sizes][, level])`. `cpu` is the CPU of the generated code.
// `debug` is null without -g.
llvm::Function* emit_run_function(llvm::Module&, const ModelParts&, const std::string& symbol,
                                  const llvm::MCSubtargetInfo& cpu, DebugInfo* debug);

}  // namespace dlcc::targets
