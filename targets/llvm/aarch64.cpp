// 64-bit ARM as data: NEON is in every CPU, so one level serves all; naming a CPU tunes for it.
#include <llvm/MC/MCSubtargetInfo.h>

#include "targets/llvm/cpu_model.h"

namespace dlcc::targets {

namespace {

CodeLevel level_for(const llvm::MCSubtargetInfo&, const std::string& cpu, const std::string& features) {
  return {cpu,
          cpu,
          "",
          features,
          {.vector_bytes = 16, .vector_registers = 32, .has_fma = true, .l2_bytes = 512 << 10}};
}

bool is_usable(const llvm::MCSubtargetInfo& info) { return info.checkFeatures("+neon"); }

}  // namespace

TargetFamily aarch64_family() {
  Target base;
  base.name = "aarch64";
  base.triple = "aarch64-unknown-linux-gnu";
  base.summary = "64-bit ARM with NEON, ELF";
  base.channel_block = 16;
#ifdef __aarch64__
  base.is_host_architecture = true;
#endif
  CodeLevel generic{
      "generic",
      "generic",
      "",
      "",
      {.vector_bytes = 16, .vector_registers = 32, .has_fma = true, .l2_bytes = 512 << 10}};
  return {base, {generic}, {generic}, level_for, is_usable};
}

}  // namespace dlcc::targets
