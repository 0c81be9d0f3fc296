// The list of graph passes, from passes.def, and names for the functions that they add.
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

std::string TensorFunctionNames::unused(const std::string& stem) {
  for (int& k = next_[stem];; ++k) {
    std::string name = k ? fmt::format("{}_{}", stem, k) : stem;
    if (!module_.tensor_functions.contains(name)) return name;
  }
}

CallTensor TensorFunctionNames::add(const std::string& stem, tensor::TensorFunction f, std::vector<Atom> args) {
  f.name = unused(stem);
  CallTensor call{f.name, std::move(args), {}};
  module_.tensor_functions.emplace(call.function, std::move(f));
  return call;
}

}  // namespace dlcc::relay
