// The table of 64-bit ARM. Every CPU has NEON; levels with dot products of bytes extend the generic one. -mcpu= may
// also name a CPU.
#include <llvm/MC/MCSubtargetInfo.h>

#include <algorithm>

#include "targets/llvm/cpu_model.h"
#include "targets/llvm/level_test.h"

namespace dlcc::targets {

namespace {

using tensor::ByteProducts;

// Cache sizes of a Cortex-A76 or Neoverse N1 (Arm's technical reference manuals). Machine balance: two units of 128
// bits do about 45 GFLOP/s, and one core reads about 11 GB/s; an estimate from data sheets, not measured.
const tensor::Machine machine{.vector_bytes = 16,
                              .vector_registers = 32,
                              .general_registers = 32,
                              .has_fma = true,
                              .multiplies_by_lane = true,
                              .byte_pair_registers = 7,
                              .l2_bytes = 512 << 10,
                              .machine_balance = 4};

// Dot products of four bytes are an extension, dotprod, of signed bytes (Cortex-A55, A75 and later ones), and those of
// unsigned and signed bytes another one, i8mm (Cortex-A510, A710, Neoverse N2 and later ones).
CodeLevel aarch64_level(const llvm::MCSubtargetInfo& info, const std::string& cpu, const std::string& features) {
  CodeLevel level{cpu, cpu, "", features, machine};
  if (info.checkFeatures("+i8mm"))
    level.machine.byte_products = ByteProducts::dot;
  else if (info.checkFeatures("+dotprod"))
    level.machine.byte_products = ByteProducts::signed_dot;
  return level;
}

CodeLevel generic_level() { return {"generic", "generic", "", "", machine}; }

// The generic level with one of the extensions.
CodeLevel generic_with(const std::string& feature, ByteProducts byte_products) {
  CodeLevel level = generic_level();
  level.name += "+" + feature;
  level.features = "+" + feature;
  level.machine.byte_products = byte_products;
  level.is_extension = true;
  return level;
}
CodeLevel dotprod_level() { return generic_with("dotprod", ByteProducts::signed_dot); }
CodeLevel i8mm_level() { return generic_with("i8mm", ByteProducts::dot); }

// Extensions of Armv8 and Armv9 with instructions on numbers and vectors, and the atomic ones (lse).
std::vector<std::string> features() {
  std::vector<std::string> names = id_register_features();
  names.emplace_back("neon");
  std::ranges::sort(names);
  return names;
}

bool has_neon(const llvm::MCSubtargetInfo& info) { return info.checkFeatures("+neon"); }

}  // namespace

TargetFamily aarch64_family() {
  Target base;
  base.name = "aarch64";
  base.triple = "aarch64-unknown-linux-gnu";
  base.summary = "64-bit ARM with NEON, ELF; by default also code for dotprod";
  base.linux_compiler = "aarch64-linux-gnu-gcc";
  base.channel_block = tensor::channel_block;
#ifdef __aarch64__
  base.is_host_architecture = true;
#endif
  base.baseline = generic_level();
  base.level_detection = LevelDetection::id_registers;
  return {base,
          {generic_level(), dotprod_level()},
          {generic_level(), dotprod_level(), i8mm_level()},
          features(),
          aarch64_level,
          has_neon};
}

}  // namespace dlcc::targets
