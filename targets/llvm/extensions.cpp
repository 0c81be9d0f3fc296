#include "targets/llvm/extensions.h"

#include <algorithm>

#include "tensor/visit.h"

namespace dlcc::targets {
namespace {

bool calls_intrinsics(const tensor::Kernel& kernel) {
  bool found = false;
  tensor::for_each_stmt(
      kernel.body, [&](const tensor::Stmt& s) { found = found || tensor::as<tensor::IntrinsicCall>(s) != nullptr; });
  return found;
}

}  // namespace

size_t level_of_kernel(const lower::Program& program, const Target& target, size_t kernel, size_t level) {
  const bool extends = level > 0 && target.levels[level].is_extension;
  return extends && !calls_intrinsics(program.kernels[kernel].variants[level]) ? level - 1 : level;
}

void remove_unused_extension(lower::Program& program, Target& target) {
  if (target.levels.size() < 2 || !target.levels.back().is_extension) return;
  if (std::ranges::any_of(program.kernels, [](const auto& k) { return calls_intrinsics(k.variants.back()); })) return;
  target.levels.pop_back();
  for (auto& kernel : program.kernels) kernel.variants.pop_back();
}

}  // namespace dlcc::targets
