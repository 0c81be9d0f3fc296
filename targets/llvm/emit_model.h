// Emits everything but the kernels: the entry functions with their checks, the run function of each CPU level, and the
// constant that describes the model.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "emit/interface.h"
#include "lower/plan.h"
#include "lower/program.h"
#include "lower/program_text.h"
#include "targets/target.h"

namespace llvm {
class MCSubtargetInfo;
}

namespace dlcc::targets {

class DebugInfo;

// Members of dlcc_context (runtime/include/dlcc/types.h) in order, each of 8 bytes.
enum class ContextMember : unsigned { executor, profiler, heap, heap_bytes, weights, weights_bytes };

// Loads a member; `type` is as wide as an address.
llvm::Value* load_member(llvm::IRBuilder<>&, llvm::Type* type, llvm::Value* context, ContextMember);

// A private constant with the text and a zero after it.
llvm::Constant* string_constant(llvm::Module&, const std::string& text, const std::string& name = "text");

struct ModelParts {
  const lower::Program& program;
  const lower::StoragePlan& plan;
  const emit::Interface& interface;
  const Target& target;
  std::string weights_symbol;
  std::vector<int64_t> constant_offsets;  // bytes from weights_symbol, or in the weights file; one for each constant
  const lower::ProgramText* text;         // the source of the debug information; null without -g
};

// "P_k3_x86_64_v4"; with -g "P_k3_conv2d_relu_x86_64_v4", so that profilers name the kernel.
std::string kernel_symbol(const ModelParts&, size_t kernel, const CodeLevel&);

// "P_f3": the function of the program.
std::string function_symbol(const ModelParts&, size_t function);

// The object's global symbols.
std::vector<std::string> exported_symbols(const emit::Interface&);

// Emits the functions and the constant into the module. `cpu` is the CPU of the generated code. `debug` is null without
// -g.
void emit_model(llvm::Module&, const ModelParts&, const llvm::MCSubtargetInfo& cpu, DebugInfo* debug);

}  // namespace dlcc::targets
