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
  const auto is_used = [&](const lower::KernelVariants& k) {
    return k.variants.size() == target.levels.size() && calls_instructions(k.variants.back());
  };
  while (target.levels.size() > 1 && target.levels.back().is_extension &&
         std::ranges::none_of(program.kernels, is_used)) {
    for (auto& kernel : program.kernels)
      if (kernel.variants.size() == target.levels.size()) kernel.variants.pop_back();
    target.levels.pop_back();
  }
}

}  // namespace dlcc::targets
