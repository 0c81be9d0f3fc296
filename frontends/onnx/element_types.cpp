#include "frontends/onnx/element_types.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <sstream>
#include <vector>

namespace dlcc::frontends::onnx {
namespace {

struct Addition {
  int64_t operator_set;
  const char *types, *operators;
};

constexpr Addition additions[] = {
#define ADDED(operator_set, types, operators) {operator_set, types, operators},
#include "frontends/onnx/element_types.def"
#undef ADDED
};

std::vector<std::string> words(const char* text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

using Versions = std::map<DType, int64_t>;

// By operator, or by operator and input as in "Pow.0".
std::map<std::string, Versions> versions_by_operator() {
  std::map<std::string, Versions> all;
  for (const Addition& addition : additions)
    for (const std::string& op : words(addition.operators))
      for (const std::string& type : words(addition.types))
        if (auto known = dtype_named(type)) all[op].emplace(*known, addition.operator_set);
  return all;
}

}  // namespace

std::optional<int64_t> operator_set_with_type(const std::string& op, int input, DType type) {
  static const std::map<std::string, Versions> all = versions_by_operator();
  for (const std::string& key : {op, fmt::format("{}.{}", op, input)})
    if (const auto versions = all.find(key); versions != all.end())
      if (const auto found = versions->second.find(type); found != versions->second.end()) return found->second;
  return std::nullopt;
}

}  // namespace dlcc::frontends::onnx
