// CPUs from LLVM's tables: their names and features, and the Machine that schedules derive from the features.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "targets/target.h"

namespace llvm {
class MCSubtargetInfo;
class TargetMachine;
}  // namespace llvm

namespace dlcc::targets {

// The features of a CPU, modified by `features` in LLVM's syntax; null if LLVM does not know the CPU.
std::unique_ptr<llvm::MCSubtargetInfo> cpu_features(const std::string& triple, const std::string& cpu,
                                                    const std::string& features = "");

bool is_arm32(const llvm::MCSubtargetInfo&);

std::vector<std::string> known_cpus(const std::string& triple);  // names, as LLVM lists them

// LLVM's code generator for a level, without floating-point contraction.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const Target&, const CodeLevel&, int optimization);

// One family of CPUs (x86.cpp, aarch64.cpp, arm.cpp, riscv.cpp).
struct TargetFamily {
  Target base;                            // without levels
  std::vector<CodeLevel> default_levels;  // ascending
  std::vector<CodeLevel> named_levels;    // ascending; names in addition to LLVM's CPUs
  std::vector<std::string> features;      // instruction set extensions that -mattr= may change, sorted
  std::function<CodeLevel(const llvm::MCSubtargetInfo&, const std::string& cpu, const std::string& features)> level_for;
  std::function<bool(const llvm::MCSubtargetInfo&)> is_usable;  // whether this target's code runs on the CPU
  // Adds to the features of -mattr= those that LLVM also needs; null: it needs no others.
  std::string (*completed)(const std::string& mattr) = nullptr;
};
TargetFamily x86_family();
TargetFamily aarch64_family();
std::vector<TargetFamily> arm_families();
std::vector<TargetFamily> riscv_families();

}  // namespace dlcc::targets
