#include "targets/llvm/extensions.h"

#include <algorithm>

#include "tensor/tile_transpose.h"
#include "tensor/visit.h"

namespace dlcc::targets {
namespace {

// Whether code for the kernel may use instructions of an extension. Transpositions are emitted as shuffles on all
// levels.
bool calls_instructions(const tensor::Kernel& kernel) {
  bool found = false;
  tensor::for_each_stmt(kernel.body, [&](const tensor::Stmt& s) {
    const auto* call = tensor::as<tensor::IntrinsicCall>(s);
    found = found || (call && call->intrinsic->emission != tensor::tile_transpose_emission);
  });
  return found;
}

}  // namespace

size_t level_of_kernel(const lower::Program& program, const Target& target, size_t kernel, size_t level) {
  const lower::KernelVariants& k = program.kernels[kernel];
  if (k.variants.size() == 1) return 0;
  while (level > 0 && target.levels[level].is_extension && !calls_instructions(k.variants[level])) --level;
  return level;
}

void remove_unused_extensions(lower::Program& program, Target& target) {
  for (size_t level = target.levels.size(); level-- > 1;) {
    const auto has_variants = [&](const lower::KernelVariants& k) { return k.variants.size() == target.levels.size(); };
    const auto is_used = [&](const lower::KernelVariants& k) {
      return has_variants(k) && calls_instructions(k.variants[level]);
    };
    if (!target.levels[level].is_extension || std::ranges::any_of(program.kernels, is_used)) continue;
    const auto position = static_cast<std::ptrdiff_t>(level);
    for (auto& kernel : program.kernels)
      if (has_variants(kernel)) kernel.variants.erase(kernel.variants.begin() + position);
    target.levels.erase(target.levels.begin() + position);
  }
}

}  // namespace dlcc::targets
