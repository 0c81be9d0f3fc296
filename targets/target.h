// A target as data: the CPUs that code is generated for. The tables are in targets/llvm/*.cpp; one dlcc binary has all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/diagnostics.h"
#include "tensor/machine.h"

namespace dlcc::targets {

inline constexpr const char* native_cpu = "native";  // -mcpu=native and its level: this machine's CPU

// One instruction-set level for which kernels are generated. An object may hold several; its first call selects the
// best one that the CPU supports.
struct CodeLevel {
  std::string name;      // "x86-64-v4": part of symbol names and reports
  std::string cpu;       // LLVM's target CPU
  std::string tune_cpu;  // LLVM's tuning CPU; empty for none
  std::string features;  // LLVM's feature string, "+avx512f,..."; may be empty
  tensor::Machine machine;
  // Whether the level differs from the one before it only in instructions for intrinsics. An object then has code for
  // this level only for kernels that call intrinsics, and omits the level if there are none
  // (targets/llvm/extensions.h). Extension levels may follow each other.
  bool is_extension = false;
  // Bits of the vectors that LLVM makes of code that is not in vectors already; 0: LLVM's choice for the CPU.
  int preferred_vector_bits = 0;
};

// How an object with several levels detects which of them the CPU supports.
enum class LevelDetection {
  none,   // not at all: an object has one level
  cpuid,  // by the CPUID and XGETBV instructions of x86
  // By the ID registers of AArch64, for some features of a CPU only: several levels are those that the target's table
  // names, not CPUs. An object with one level detects nothing, since not every system lets programs read the registers.
  id_registers,
};

struct Target {
  std::string name;    // "x86-64", "cortex-m4"
  std::string triple;  // "x86_64-unknown-linux-gnu"
  std::string summary;
  CodeLevel baseline;  // of the code outside of kernels, which runs on every CPU of the architecture
  LevelDetection level_detection = LevelDetection::none;
  std::vector<CodeLevel> levels;       // ascending; every CPU must support the first
  int64_t largest_object = INT64_MAX;  // bytes that the difference of two addresses can count
  int64_t channel_block = 1;           // channels per block of the images' layout, NCHW16c for 16; 1: the model's NCHW
  // The C compiler that links programs for Linux with the target's code, by its name in Debian. Code for
  // microcontrollers runs on the processors of its architecture that have Linux, too. Empty: Debian has none.
  std::string linux_compiler;
  // Without an operating system: the code runs at the address that it is linked for.
  bool is_freestanding = false;
  bool is_host_architecture = false;
};

// The target `name` with the CPU selection of -mcpu=: empty (the target's default levels), a level or CPU name, a
// comma-separated list of levels, or "native"; `mattr` ("+avx512vnni,-avx512f") then changes every level's features.
// Empty, with a diagnostic that suggests a similar name, if a name is unknown.
std::optional<Target> find_target(const std::string& name, const std::string& mcpu, const std::string& mattr,
                                  Diagnostics&);

struct TargetInfo {
  std::string name, summary;
  std::vector<std::string> cpus;      // that -mcpu= accepts
  std::vector<std::string> features;  // that -mattr= accepts after + or -
};
std::vector<TargetInfo> list_targets();

}  // namespace dlcc::targets
