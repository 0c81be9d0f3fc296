// The table of 64-bit ARM. Every CPU has NEON, so there is one level; -mcpu names the CPU to tune for.
#include <llvm/MC/MCSubtargetInfo.h>

#include "targets/llvm/cpu_model.h"

namespace dlcc::targets {

namespace {

// Cache sizes of a Cortex-A76 or Neoverse N1 (Arm's technical reference manuals). Machine balance: two units of 128
// bits do about 45 GFLOP/s, and one core reads about 11 GB/s; an estimate from data sheets, not measured.
const tensor::Machine machine{.vector_bytes = 16,
                              .vector_registers = 32,
                              .general_registers = 32,
                              .has_fma = true,
                              .multiplies_by_lane = true,
                              .l2_bytes = 512 << 10,
                              .machine_balance = 4};

// Dot products of four bytes are an extension, dotprod, of signed bytes (Cortex-A55, A75 and later ones), and those of
// unsigned and signed bytes another one, i8mm (Cortex-A510, A710, Neoverse N2 and later ones).
CodeLevel aarch64_level(const llvm::MCSubtargetInfo& info, const std::string& cpu, const std::string& features) {
  CodeLevel level{cpu, cpu, "", features, machine};
  if (info.checkFeatures("+i8mm"))
    level.machine.byte_products = tensor::ByteProducts::dot;
  else if (info.checkFeatures("+dotprod"))
    level.machine.byte_products = tensor::ByteProducts::signed_dot;
  return level;
}

// Extensions of Armv8 and Armv9 with instructions on numbers and vectors, and the atomic ones (lse).
const std::vector<std::string> features = {"bf16",     "complxnum", "crc", "dotprod", "f32mm", "f64mm", "fp16fml",
                                           "fullfp16", "i8mm",      "lse", "neon",    "rdm",   "sve",   "sve2"};

bool has_neon(const llvm::MCSubtargetInfo& info) { return info.checkFeatures("+neon"); }

}  // namespace

TargetFamily aarch64_family() {
  Target base;
  base.name = "aarch64";
  base.triple = "aarch64-unknown-linux-gnu";
  base.summary = "64-bit ARM with NEON, ELF";
  base.linux_compiler = "aarch64-linux-gnu-gcc";
  base.channel_block = tensor::channel_block;
#ifdef __aarch64__
  base.is_host_architecture = true;
#endif
  CodeLevel generic{"generic", "generic", "", "", machine};
  base.baseline = generic;
  return {base, {generic}, {generic}, features, aarch64_level, has_neon};
}

}  // namespace dlcc::targets
