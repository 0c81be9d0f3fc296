// Spills within loops, as LLVM's register allocator reports them.
#pragma once

#include <llvm/IR/LLVMContext.h>

#include <compare>
#include <cstdint>
#include <map>
#include <string>

namespace dlcc::targets {

// Instructions within loops; each counts once for every loop around it.
struct Spills {
  int64_t stores = 0, loads = 0;
  auto operator<=>(const Spills&) const = default;
};

// Installs a diagnostic handler that adds the spills of the context's functions to `of_function`, by name, during code
// generation. `of_function` must outlive the context. Functions without spills have no entry.
void count_spills(llvm::LLVMContext&, std::map<std::string, Spills>& of_function);

}  // namespace dlcc::targets
