// How a CPU tells which instructions it has: one function for each LevelDetection. cpu_check.h uses them.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <string>
#include <vector>

#include "targets/target.h"

namespace dlcc::targets {

// Emits the test whether the CPU supports the level of this index in Target::levels, at the builder's position: an i1.
using LevelTest = std::function<llvm::Value*(size_t level)>;

// Emits the reads of what x86 reports by CPUID and XGETBV, and new basic blocks for them. The tests use these values.
LevelTest read_cpuid(llvm::IRBuilder<>&, const Target&);

// Emits the reads of the ID registers of AArch64 that tell about features of the levels. The tests use these values.
LevelTest read_id_registers(llvm::IRBuilder<>&, const Target&);

// The features, by LLVM's names, that these tests can detect; sorted.
std::vector<std::string> cpuid_features();
std::vector<std::string> id_register_features();

}  // namespace dlcc::targets
