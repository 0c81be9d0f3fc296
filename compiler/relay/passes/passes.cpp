// The list of graph passes, from passes.def.
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

}  // namespace dlcc::relay
