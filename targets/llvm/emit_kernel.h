// Emits kernels of the tensor IR as LLVM functions, one rule per node (semantics: tensor/ir.h), without fast-math
// flags.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/program_text.h"
#include "targets/target.h"
#include "tensor/ir.h"
#include "tensor/passes/strip_mine_vector_loops.h"

namespace llvm {
class Function;
class IRBuilderBase;
class LLVMContext;
class MCSubtargetInfo;
class Module;
class Type;
class Value;
}  // namespace llvm

namespace dlcc::targets {

class DebugInfo;

// The type of scalars: i1 for bool, i8 for 4-bit types, integers for floats of less than 32 bits (their bit patterns).
llvm::Type* type_of_scalar(llvm::LLVMContext&, DType);

// Whether a variant of the kernel contains a parallel loop, and threads > 1.
bool forks(const lower::KernelVariants&, int threads);

// Declares the function of a variant: a pointer per parameter, the scalar parameters, a pointer to the dlcc_executor if
// a variant forks, and an int32 status as its result if a variant can fail. All variants have the same type.
llvm::Function* declare_kernel(llvm::Module&, const std::string& symbol, const lower::KernelVariants&, int threads);

// assume_aligned_stack: all functions of the module assume a stack that is aligned for their local buffers, so that
// they need no frame pointer. align_stack: the function aligns the stack; for functions that are called from outside.
void assume_aligned_stack(llvm::Module&);
void align_stack(llvm::Function&);

// The debug information of one kernel. The text has the statements of which passes have made copies.
struct KernelDebug {
  DebugInfo& info;
  const lower::KernelText& text;
  tensor::StatementOrigins origins = {};
};

// Whether the CPU has instructions that look up vectors of bytes in tables of 256 bytes (emit_table.cpp).
bool has_byte_lookups(const llvm::MCSubtargetInfo&);

// Defines a declared function. `may_alias[i]`: parameter i may share memory with another one. Each vector loop of the
// kernel is one vector (tensor/passes/strip_mine_vector_loops.h). `debug` is null without -g.
void emit_kernel(llvm::Function*, const tensor::Kernel&, const std::vector<bool>& may_alias, const CodeLevel&,
                 const llvm::MCSubtargetInfo&, int threads, const KernelDebug* debug);

// The values of scalar variables.
using ScalarValues = std::map<tensor::Var, llvm::Value*>;

// Emits an expression without loads at the builder's position, which moves on.
llvm::Value* emit_scalar(llvm::IRBuilderBase&, const tensor::Expr&, const ScalarValues&, const CodeLevel&,
                         const llvm::MCSubtargetInfo&);

}  // namespace dlcc::targets
