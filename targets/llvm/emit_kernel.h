// Emits kernels of the tensor IR as LLVM functions, one obvious rule per node (semantics: tensor/ir.h). No fast-math
// flags: what the IR says is what is computed.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <string>
#include <vector>

#include "lower/program_text.h"
#include "targets/llvm/debug_info.h"
#include "targets/target.h"
#include "tensor/ir.h"

namespace dlcc::targets {

bool can_fail(const tensor::Kernel&);            // holds a requirement
bool forks(const tensor::Kernel&, int threads);  // holds a parallel loop that is run by several threads

// Declares the kernel's function: a pointer per parameter, one to the dlcc_executor if it forks, and an int32 status as
// its result if the kernel can fail.
llvm::Function* declare_kernel(llvm::Module&, const std::string& symbol, const tensor::Kernel&, int threads);

// Kernels rely on a stack that is aligned for their local buffers, so that none of them spends a register on aligning
// it. Who is called from outside aligns it for all.
void assume_aligned_stack(llvm::Module&);
void align_stack(llvm::Function&);

// What functions are called for a debugger, and where the kernel stands in the program's text.
struct KernelDebug {
  DebugInfo& info;
  const lower::KernelText& text;
};

// Loops in each other whose counters and pointers a function's registers should hold.
int loops_that_fit(const tensor::Machine&);

// The next smaller number of loops with which emit_kernel divides the kernel into other functions than with
// `most_loops`; that itself if there is none.
int next_division(const tensor::Kernel&, const tensor::Machine&, int most_loops, int threads);

// Gives the declared function its body. `may_alias[i]`: parameter i may share its memory with another one. A function
// has at most so many loops in each other, as far as calls of others cost little. `debug` is null without -g.
void emit_kernel(llvm::Function*, const tensor::Kernel&, const std::vector<bool>& may_alias, const CodeLevel&,
                 const llvm::MCSubtargetInfo&, int most_loops, int threads, const KernelDebug* debug);

}  // namespace dlcc::targets
