// The tables of 32-bit ARM: Cortex-M microcontrollers, each a target of its own, and ARMv7-A with NEON.
#include <llvm/MC/MCSubtargetInfo.h>

#include "targets/llvm/cpu_model.h"

namespace dlcc::targets {

namespace {

using tensor::ByteProducts;

constexpr const char* linux_compiler = "arm-linux-gnueabihf-gcc";
constexpr int registers_without_fpu = 8;  // of the general registers, those that may hold floats

// Reasons for the values. vector_bytes: a microcontroller computes one float at a time. l2_bytes, prefetch_streams: it
// has no cache or a small one, and its memory keeps up with it, so operands are neither blocked nor prefetched.
// l1_bytes bounds a row of scratch on the stack to 1 KiB (Machine::max_row_scratch). general_registers: the stack
// pointer, the link register and the program counter are not available. vector_registers: Cortex-M4, M7, M33 and M55
// have 32 registers for float32. fma_units: no core has two. accumulators_in_flight: a multiply-add takes 3 cycles on
// Cortex-M4 (Arm, "Cortex-M4 Technical Reference Manual", section 7.2.3), so few accumulators would be enough; but
// eight neighbouring windows share most of the elements that they load. Of Helium, the vectors of Cortex-M55, only
// products of bytes are used. scalar_k_unroll: without the DSP extension, products of bytes take twice as many
// instructions, so that half as many between two branches are enough. The networks of MLPerf Tiny have 13 to 28 % less
// code on Cortex-M0+ and M3 than with eight, and execute between 6 % fewer and 1 % more instructions.
tensor::Machine microcontroller(bool has_fpu, bool has_dsp, bool has_long_multiply, ByteProducts byte_products) {
  return {.vector_bytes = 4,
          .vector_registers = has_fpu ? 32 : registers_without_fpu,
          .general_registers = 13,
          .has_fma = has_fpu,
          .has_fpu = has_fpu,
          .has_long_multiply = has_long_multiply,
          .byte_products = byte_products,
          .fma_units = 1,
          .accumulators_in_flight = 8,
          .product_registers = 1,
          .l1_bytes = 4 << 10,
          .l2_bytes = 1 << 20,
          .machine_balance = 1,
          .prefetch_streams = 0,
          .scalar_k_unroll = has_dsp ? 8 : 4,
          .memory_is_scarce = true};
}

// A microcontroller with its FPU, if it has one, and without, as compilers of C name it. Those with an FPU have the DSP
// extension, too.
TargetFamily microcontroller_family(const std::string& name, const std::string& triple, const std::string& summary,
                                    bool has_fpu) {
  Target base;
  base.name = name;
  base.triple = triple;
  base.summary = summary;
  base.linux_compiler = linux_compiler;
  base.is_freestanding = true;
  base.largest_object = INT32_MAX;
  // Without the DSP extension, bytes are multiplied one pair at a time, which is faster than floats without an FPU.
  const auto in_pairs = ByteProducts::scalar_pairs;
  const bool has_helium = cpu_features(triple, name, "")->checkFeatures("+mve");
  const bool has_dsp = cpu_features(triple, name, "")->checkFeatures("+dsp");
  const bool has_long_multiply = cpu_features(triple, name, "")->checkFeatures("+thumb2");  // umull, smull
  const CodeLevel level{
      name, name, "", "",
      microcontroller(has_fpu, has_dsp, has_long_multiply, has_helium ? ByteProducts::scalar_dot : in_pairs)};
  base.baseline = level;
  std::vector<CodeLevel> levels = {level};
  if (has_fpu)
    levels.push_back(
        {name + "+nofp", name, "", "-fpregs", microcontroller(false, has_dsp, has_long_multiply, in_pairs)});
  auto level_for = [level](const llvm::MCSubtargetInfo&, const std::string&, const std::string&) { return level; };
  return {base, {level}, levels, {}, level_for, [name](const auto& info) { return info.getCPU() == name; }};
}

// NEON is optional in ARMv7-A, and LLVM's table has its CPUs without it. The second-level cache of a Cortex-A9 system
// is outside of the core; the balance is an estimate from data sheets.
CodeLevel armv7_level(const llvm::MCSubtargetInfo& info, const std::string& cpu, const std::string& features) {
  const std::string with_neon = features.starts_with("+neon") ? features
                                : features.empty()            ? "+neon"
                                                              : "+neon," + features;
  return {cpu,
          cpu,
          "",
          with_neon,
          {.vector_bytes = 16,
           .vector_registers = 16,
           .general_registers = 13,
           .has_fma = info.checkFeatures("+vfp4d16sp"),
           .fma_units = 1,
           .l2_bytes = 512 << 10,
           .machine_balance = 4}};
}

TargetFamily armv7_family() {
  Target base;
  base.name = "armv7-a";
  base.triple = "armv7a-unknown-linux-gnueabihf";
  base.summary = "32-bit ARM with NEON, ELF for Linux";
  base.linux_compiler = linux_compiler;
  base.largest_object = INT32_MAX;
  base.channel_block = tensor::channel_block;
  const std::string oldest = "cortex-a9";
  CodeLevel generic = armv7_level(*cpu_features(base.triple, oldest), oldest, "");
  generic.name = "generic";
  base.baseline = generic;
  return {base, {generic}, {generic}, {"fp16", "vfp4"}, armv7_level, [](const llvm::MCSubtargetInfo& info) {
            return info.checkFeatures("+aclass,+v7") && !info.checkFeatures("+v8");
          }};
}

}  // namespace

std::vector<TargetFamily> arm_families() {
  return {microcontroller_family("cortex-m0plus", "thumbv6m-unknown-none-eabi", "ARM Cortex-M0 and M0+", false),
          microcontroller_family("cortex-m3", "thumbv7m-unknown-none-eabi", "ARM Cortex-M3", false),
          microcontroller_family("cortex-m4", "thumbv7em-unknown-none-eabi", "ARM Cortex-M4 with FPU", true),
          microcontroller_family("cortex-m7", "thumbv7em-unknown-none-eabi", "ARM Cortex-M7 with FPU", true),
          microcontroller_family("cortex-m33", "thumbv8m.main-unknown-none-eabi", "ARM Cortex-M33 with FPU", true),
          microcontroller_family("cortex-m55", "thumbv8.1m.main-unknown-none-eabi", "ARM Cortex-M55 with FPU", true),
          armv7_family()};
}

}  // namespace dlcc::targets
