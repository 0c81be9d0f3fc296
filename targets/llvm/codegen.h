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
#include "lower/program.h"
#include "lower/program_text.h"
#include "support/diagnostics.h"
#include "targets/llvm/object_file.h"
#include "targets/target.h"

namespace dlcc::targets {

// Code reaches the weights in its object by relative addresses of 32 bits.
inline constexpr int64_t largest_weights_section = INT32_MAX - 1;

struct CodegenOptions {
  int optimization = 2;                                        // 0..3
  int jobs = 1;                                                // code is the same for any number
  std::string weights_section = {};                            // for the constants; empty: .rodata.P_weights
  std::function<void(size_t done, size_t all)> progress = {};  // of the pieces; called by one thread at a time
  // For a debugger (-g): the program's text and the name of the file that has it. Code is the same without, all else
  // is not.
  const lower::ProgramText* text = nullptr;
  std::string text_file = {};
};

// The object. The interface (symbols, checks, introspection data) follows emit/interface.h. Throws
// InternalError only.
ObjectFile generate_object(const lower::Program&, const lower::StoragePlan&, const emit::Interface&, const Target&,
                           const CodegenOptions&);

// The same code as text, for people: LLVM IR before and after LLVM's passes, or assembly.
enum class Listing { llvm_ir, optimized_llvm_ir, assembly };
std::string generate_listing(const lower::Program&, const lower::StoragePlan&, const emit::Interface&, const Target&,
                             const CodegenOptions&, Listing);

// Deepest stack use of the run function in bytes, from the frame sizes that LLVM records in the object. An object's
// head is enough.
int64_t stack_bytes(std::span<const std::byte> object);

}  // namespace dlcc::targets
