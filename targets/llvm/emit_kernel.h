// Emits kernels of the tensor IR as LLVM functions, one obvious rule per node (semantics: tensor/ir.h). No fast-math
// flags: what the IR says is what is computed.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <string>
#include <vector>

#include "targets/target.h"
#include "tensor/ir.h"

namespace dlcc::targets {

bool can_fail(const tensor::Kernel&);            // holds a requirement
bool forks(const tensor::Kernel&, int threads);  // holds a parallel loop that is run by several threads

// Declares the kernel's function: a pointer per parameter, one to the dlcc_executor if it forks, and an int32 status as
// its result if the kernel can fail.
llvm::Function* declare_kernel(llvm::Module&, const std::string& symbol, const tensor::Kernel&, int threads);

// Gives the declared function its body. `may_alias[i]`: parameter i may share its memory with another one.
void emit_kernel(llvm::Function*, const tensor::Kernel&, const std::vector<bool>& may_alias, const CodeLevel&,
                 const llvm::MCSubtargetInfo&, int threads);

}  // namespace dlcc::targets
