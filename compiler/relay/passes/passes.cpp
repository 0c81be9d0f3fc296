// The list of graph passes, from passes.def, and what several of them need.
#include "relay/passes/passes.h"

#include <algorithm>
#include <array>

namespace dlcc::relay {

namespace {

PassInfo pass(std::string name, std::string about, Module (*run)(Module, PassContext&)) {
  std::ranges::replace(name, '_', '-');
  return {std::move(name), std::move(about), run};
}

}  // namespace

std::span<const PassInfo> all_passes() {
  static const std::array list = {
#define PASS(name, about) pass(#name, about, name),
#include "relay/passes/passes.def"
#undef PASS
  };
  return list;
}

std::string unused_tensor_function_name(const Module& module, const std::string& stem) {
  std::string name = stem;
  for (int k = 1; module.tensor_functions.contains(name); ++k) name = fmt::format("{}_{}", stem, k);
  return name;
}

}  // namespace dlcc::relay
