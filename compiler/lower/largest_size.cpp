#include "lower/largest_size.h"

#include "shape/largest_dim.h"

namespace dlcc::lower {

std::vector<Symbol> entry_symbols(const Program& program) {
  std::vector<Symbol> symbols;
  for (const InputDim& d : program.dims) symbols.push_back(d.symbol);
  symbols.insert(symbols.end(), program.input_sizes.begin(), program.input_sizes.end());
  return symbols;
}

bool has_symbols(const Program& program) {
  return !program.dims.empty() || !program.input_sizes.empty() || !program.data_sizes.empty();
}

LargestSizes::LargestSizes(const Program& program) {
  for (const DataSize& data : program.data_sizes) largest_.emplace(data.symbol.name, data.most);
}

Dim LargestSizes::operator()(const Dim& d) const { return largest_.empty() ? d : largest_dim(d, largest_); }

Dim largest_size(const Program& program, const Dim& d) { return LargestSizes(program)(d); }

std::map<std::string, int64_t> with_largest_data_sizes(const Program& program, std::map<std::string, int64_t> given) {
  for (const DataSize& d : program.data_sizes)
    if (!given.contains(d.symbol.name)) given[d.symbol.name] = d.most.evaluate(given).value_or(0);
  return given;
}

}  // namespace dlcc::lower
