// Code generation through LLVM: a planned program becomes a relocatable ELF object. Nothing outside targets/llvm
// includes LLVM's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "emit/interface.h"
#include "lower/plan.h"
#include "lower/program.h"
#include "lower/program_text.h"
#include "support/diagnostics.h"
#include "targets/llvm/object_file.h"
#include "targets/target.h"

namespace dlcc::targets {

// In bytes. Code addresses the weights of its object relative to the program counter, with 32-bit offsets.
inline constexpr int64_t largest_weights_section = INT32_MAX - 1;

struct CodegenOptions {
  int optimization = 2;                                        // 0..3
  int jobs = 1;                                                // threads; the code does not depend on their number
  std::string weights_section = {};                            // for the constants; empty: .rodata.P_weights
  std::function<void(size_t done, size_t all)> progress = {};  // compilation units; called by one thread at a time
  // Debug information (-g): the program's text and the name of its file. The instructions are the same with and
  // without.
  const lower::ProgramText* text = nullptr;
  std::string text_file = {};
};

// Generates the object of a planned program. Its interface (symbols, checks, introspection data) is that of
// emit/interface.h. Only defects of dlcc make it fail, with InternalError.
ObjectFile generate_object(const lower::Program&, const lower::StoragePlan&, const emit::Interface&, const Target&,
                           const CodegenOptions&);

// The same code as text: the kernels of each level in tensor IR after the passes before emission, LLVM IR before LLVM's
// passes, or assembly.
enum class Listing { tensor_ir, llvm_ir, assembly };
std::string generate_listing(const lower::Program&, const lower::StoragePlan&, const emit::Interface&, const Target&,
                             const CodegenOptions&, Listing);

// The maximum stack use of the run function in bytes, from the frame sizes that LLVM records in the object. The
// object's bytes may end before its constants.
int64_t stack_bytes(std::span<const std::byte> object);

}  // namespace dlcc::targets
