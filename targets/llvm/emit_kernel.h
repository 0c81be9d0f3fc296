// Emits kernels of the tensor IR as LLVM functions, one rule per node (semantics: tensor/ir.h), without fast-math
// flags.
#pragma once

#include <string>
#include <vector>

#include "lower/program_text.h"
#include "targets/target.h"
#include "tensor/ir.h"

namespace llvm {
class Function;
class MCSubtargetInfo;
class Module;
}  // namespace llvm

namespace dlcc::targets {

class DebugInfo;

bool can_fail(const tensor::Kernel&);            // contains a Require
bool forks(const tensor::Kernel&, int threads);  // contains a parallel loop, and threads > 1

// Declares the kernel's function: a pointer per parameter, one to the dlcc_executor if it forks, and an int32 status as
// its result if the kernel can fail.
llvm::Function* declare_kernel(llvm::Module&, const std::string& symbol, const tensor::Kernel&, int threads);

// Functions of the module assume a stack that is aligned for their local buffers, so that they need no frame pointer.
// The functions that are called from outside align it.
void assume_aligned_stack(llvm::Module&);
void align_stack(llvm::Function&);

// The debug information of one kernel.
struct KernelDebug {
  DebugInfo& info;
  const lower::KernelText& text;
};

// The depth of nested loops whose counters and pointers a function's registers hold: an estimate.
int loop_depth_that_fits(const tensor::Machine&);

// The next smaller depth with which emit_kernel outlines other statements than with `max_depth`; `max_depth` if there
// is none.
int next_smaller_depth(const tensor::Kernel&, const tensor::Machine&, int max_depth, int threads);

// Defines a declared function. `may_alias[i]`: parameter i may share memory with another one. Nested loops beyond
// `max_depth` are outlined where calls are cheap. `debug` is null without -g.
void emit_kernel(llvm::Function*, const tensor::Kernel&, const std::vector<bool>& may_alias, const CodeLevel&,
                 const llvm::MCSubtargetInfo&, int max_depth, int threads, const KernelDebug* debug);

}  // namespace dlcc::targets
