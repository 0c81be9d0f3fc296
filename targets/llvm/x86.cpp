// The table of x86-64: the psABI's levels v2, v3 and v4, and every CPU that LLVM knows.
#include <llvm/MC/MCSubtargetInfo.h>

#include "targets/llvm/cpu_model.h"
#include "targets/llvm/level_test.h"

namespace dlcc::targets {

namespace {

using tensor::ByteProducts;

// Reasons for the values. LLVM's tuning CPU: without one, and with the scheduling models of Skylake-AVX512 to Tiger
// Lake, LLVM spills accumulators of full-size register tiles. Machine balance: one core of an Emerald Rapids computes
// 184 to 230 GFLOP/s with AVX-512 and reads 11.6 GB/s. That is the highest balance measured; an object for all CPUs
// should not wait for weights on any of them. AVX2 computes half as much, but ResNets are 2 % slower with a balance of
// 10 than with 16. Second-level caches: those of typical CPUs of each level, Nehalem, Zen and Skylake-AVX512.
CodeLevel v2() {
  return {"x86-64-v2",
          "x86-64-v2",
          "nehalem",
          "",
          {.vector_bytes = 16,
           .vector_registers = 16,
           .has_fma = false,
           .byte_products = ByteProducts::pairs,
           .l2_bytes = 256 << 10}};
}
CodeLevel v3() {
  return {"x86-64-v3",
          "x86-64-v3",
          "haswell",
          "",
          {.vector_bytes = 32,
           .vector_registers = 16,
           .has_fma = true,
           .byte_products = ByteProducts::pairs,
           .l2_bytes = 512 << 10}};
}
CodeLevel v4() {
  CodeLevel level = {"x86-64-v4",
                     "x86-64-v4",
                     "sapphirerapids",
                     "",
                     {.vector_bytes = 64,
                      .vector_registers = 32,
                      .has_fma = true,
                      .byte_products = ByteProducts::pairs,
                      .l2_bytes = 1 << 20,
                      .machine_balance = 16}};
  level.preferred_vector_bits = 512;
  return level;
}

// The level on CPUs with an instruction for dot products of bytes.
CodeLevel with_vnni(CodeLevel level, const char* features) {
  level.name += "-vnni";
  level.features = features;
  level.machine.byte_products = ByteProducts::dot;
  level.is_extension = true;
  return level;
}
CodeLevel v3_vnni() { return with_vnni(v3(), "+avxvnni"); }              // Alder Lake and later ones without AVX-512
CodeLevel v4_vnni() { return with_vnni(v4(), "+avx512vnni,+evex512"); }  // Cascade Lake, Zen 4 and later ones

// Measurements of named CPUs. Zen 5: 262 to 274 GFLOP/s, 42 to 56 GB/s.
void apply_measurements(const std::string& cpu, tensor::Machine& machine) {
  if (cpu == "znver5") machine.machine_balance = 6;
}

CodeLevel x86_level(const llvm::MCSubtargetInfo& info, const std::string& cpu, const std::string& features) {
  auto has = [&](const char* feature) { return info.checkFeatures(std::string("+") + feature); };
  bool wide = has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq");
  CodeLevel level = wide ? v4() : has("avx2") ? v3() : v2();
  level.machine.has_fma = has("fma");
  if (has("avx512vnni") || (!wide && has("avxvnni"))) level.machine.byte_products = ByteProducts::dot;
  apply_measurements(cpu, level.machine);
  level.name = level.cpu = cpu;
  level.features = features;
  return level;
}

bool is_64_bit(const llvm::MCSubtargetInfo& info) { return info.checkFeatures("+64bit,+sse2"); }

// LLVM does not use 512-bit registers without its feature evex512, which every CPU with AVX-512 has, and cannot select
// instructions for AVX-512 with neither that nor avx512vl.
std::string completed(const std::string& mattr) {
  return mattr.find("+avx512") == std::string::npos ? mattr : mattr + ",+evex512";
}

}  // namespace

TargetFamily x86_family() {
  Target base;
  base.name = "x86-64";
  base.triple = "x86_64-unknown-linux-gnu";
  base.summary = "64-bit x86, ELF; by default code for AVX2 and AVX-512 in one object";
  base.baseline = {"x86-64", "x86-64", "", "", {.has_fma = false}};
  base.level_detection = LevelDetection::cpuid;
  base.linux_compiler = "x86_64-linux-gnu-gcc";
  base.channel_block = tensor::channel_block;
#ifdef __x86_64__
  base.is_host_architecture = true;
#endif
  return {base,
          {v3(), v3_vnni(), v4(), v4_vnni()},
          {v2(), v3(), v3_vnni(), v4(), v4_vnni()},
          cpuid_features(),
          x86_level,
          is_64_bit,
          completed};
}

}  // namespace dlcc::targets
