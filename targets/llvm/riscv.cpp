// The tables of RISC-V: 64 bits with Linux, and 32-bit microcontrollers. The vector extension is not used: vectors have
// one float.
#include <llvm/MC/MCSubtargetInfo.h>

#include "targets/llvm/cpu_model.h"

namespace dlcc::targets {

namespace {

// Registers of RISC-V: x0, gp and tp hold no values. The calling conventions with F or D have 32 for floats; without
// them, floats are in some of the general registers. Bytes are multiplied in general registers, one pair at a time. The
// other numbers are estimates for a core that issues one or two instructions in order, such as SiFive's U74: a cycle
// has two loads or multiply-adds, and a multiply-add has a latency of five cycles.
tensor::Machine machine(const llvm::MCSubtargetInfo& info) {
  const bool has_floats = info.checkFeatures("+f");
  return {.vector_bytes = 4,
          .vector_registers = has_floats ? 32 : 8,
          .general_registers = 29,
          .has_fma = has_floats,
          .has_fpu = has_floats,
          .byte_products = tensor::ByteProducts::scalar_pairs,
          .fma_units = 1,
          .accumulators_in_flight = 8,
          .product_registers = 1,
          .machine_balance = 2,
          .prefetch_streams = 0};
}

// A microcontroller has no caches, or small ones, and kilobytes of memory. The numbers are those of Cortex-M (arm.cpp).
// A register tile of 4 x 4 sums has 64 products of bytes for each unrolled block of four K indices, of several
// instructions each, beside which a branch costs little (an estimate): longer loops take memory.
tensor::Machine microcontroller(const llvm::MCSubtargetInfo& info) {
  tensor::Machine result = machine(info);
  result.l1_bytes = 4 << 10;
  result.machine_balance = 1;
  result.memory_is_scarce = true;
  result.scalar_k_unroll = 2;
  return result;
}

constexpr const char* linux64 = "riscv64-unknown-linux-gnu";
constexpr const char* bare32 = "riscv32-unknown-none-elf";

// A level with the name that compilers give to a set of extensions.
CodeLevel level_of(const char* triple, const std::string& name, const std::string& cpu, const std::string& features,
                   tensor::Machine machine_for(const llvm::MCSubtargetInfo&)) {
  return {name, cpu, "", features, machine_for(*cpu_features(triple, cpu, features))};
}

TargetFamily riscv64_family() {
  auto level = [](const llvm::MCSubtargetInfo& info, const std::string& cpu, const std::string& features) {
    return CodeLevel{cpu, cpu, "", features, machine(info)};
  };
  const CodeLevel general = level_of(linux64, "rv64gc", "generic-rv64", "+m,+a,+f,+d,+c", machine);
  Target base;
  base.name = "riscv64";
  base.triple = linux64;
  base.summary = "64-bit RISC-V (RV64GC), ELF for Linux";
  base.linux_compiler = "riscv64-linux-gnu-gcc";
  base.baseline = general;
  return {base,      {general},
          {general}, {"zba", "zbb", "zbs", "zfa", "zfh", "zfhmin"},
          level,     [](const llvm::MCSubtargetInfo& info) { return info.checkFeatures("+64bit,+m,+a,+d,+c"); }};
}

// Objects follow the calling convention of their extensions: ilp32f with F and ilp32d with D, else ilp32.
TargetFamily riscv32_family() {
  auto level = [](const llvm::MCSubtargetInfo& info, const std::string& cpu, const std::string& features) {
    return CodeLevel{cpu, cpu, "", features, microcontroller(info)};
  };
  auto named = [](const std::string& name, const std::string& features) {
    return level_of(bare32, name, "generic-rv32", features, microcontroller);
  };
  const CodeLevel general = named("rv32imac", "+m,+a,+c");
  Target base;
  base.name = "riscv32";
  base.triple = bare32;
  base.summary = "32-bit RISC-V microcontrollers (RV32IMAC)";
  base.is_freestanding = true;
  base.largest_object = INT32_MAX;
  base.baseline = general;
  return {base,
          {general},
          {named("rv32im", "+m"), named("rv32imc", "+m,+c"), general, named("rv32imafc", "+m,+a,+f,+c")},
          {"a", "c", "f", "zba", "zbb", "zbs", "zfa"},
          level,
          [](const llvm::MCSubtargetInfo& info) { return info.checkFeatures("+m,-64bit,-e"); }};
}

}  // namespace

std::vector<TargetFamily> riscv_families() { return {riscv64_family(), riscv32_family()}; }

}  // namespace dlcc::targets
