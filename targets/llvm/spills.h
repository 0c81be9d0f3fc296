// What the register allocator reports: registers that code within loops stores to the stack and loads from there.
#pragma once

#include <llvm/IR/LLVMContext.h>

#include <compare>
#include <cstdint>
#include <map>
#include <string>

namespace dlcc::targets {

// Instructions, each as often as there are loops around it.
struct Spills {
  int64_t stores = 0, loads = 0;
  auto operator<=>(const Spills&) const = default;
};

// Counts into `of_function`, by the functions' names, while the context's modules become machine code; it must live as
// long as the context. Functions without spills are not mentioned.
void count_spills(llvm::LLVMContext&, std::map<std::string, Spills>& of_function);

}  // namespace dlcc::targets
