#include "relay/match_sizes.h"

namespace dlcc::relay {

void match_sizes(const Shape& param, const Shape& argument, std::map<std::string, Dim>& sizes) {
  for (size_t d = 0; d < param.size(); ++d) {
    const std::vector<Symbol> symbols = param[d].symbols();
    if (symbols.size() == 1 && param[d] == Dim::symbol(symbols[0])) sizes.emplace(symbols[0].name, argument[d]);
  }
}

void match_sizes(const Type& param, const Type& argument, std::map<std::string, Dim>& sizes) {
  std::vector<const TensorType*> arguments;
  for_each_field(argument, [&](const Type& t) { arguments.push_back(as<TensorType>(t)); });
  size_t next = 0;
  for_each_field(param, [&](const Type& t) {
    const auto *declared = as<TensorType>(t), *given = arguments.at(next++);
    if (declared && given) match_sizes(declared->shape, given->shape, sizes);
  });
}

}  // namespace dlcc::relay
