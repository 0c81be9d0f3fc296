#include "lower/largest_size.h"

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
  std::map<int, AlternativeBounds> branches;
  for (const DataSize& data : program.data_sizes) {
    largest_.emplace(data.symbol.name, data.most);
    if (data.branch < 0) continue;
    AlternativeBounds& arms = branches.try_emplace(data.branch, 2).first->second;
    arms[0].emplace(data.symbol.name, data.then_most);
    arms[1].emplace(data.symbol.name, data.else_most);
  }
  for (auto& [branch, arms] : branches) branches_.push_back(std::move(arms));
}

Dim LargestSizes::operator()(const Dim& d) const {
  if (largest_.empty()) return d;
  auto known = bounds_.find(d);
  if (known == bounds_.end()) known = bounds_.emplace(d, largest_dim(d, largest_, branches_)).first;
  return known->second;
}

Dim largest_size(const Program& program, const Dim& d) { return LargestSizes(program)(d); }

std::map<std::string, int64_t> with_largest_data_sizes(const Program& program, std::map<std::string, int64_t> given) {
  const std::map<std::string, int64_t> known = given;
  auto value = [&](const Dim& d) { return d.evaluate(known).value_or(0); };
  std::map<int, std::pair<double, double>> products;  // of the sizes of each branch, by arm
  for (const DataSize& d : program.data_sizes) {
    auto& [then_product, else_product] = products.try_emplace(d.branch, 1, 1).first->second;
    then_product *= static_cast<double>(value(d.then_most));
    else_product *= static_cast<double>(value(d.else_most));
  }
  for (const DataSize& d : program.data_sizes) {
    const auto& [then_product, else_product] = products.at(d.branch);
    const Dim& arm = then_product < else_product ? d.else_most : d.then_most;
    given.try_emplace(d.symbol.name, value(d.branch < 0 ? d.most : arm));
  }
  return given;
}

}  // namespace dlcc::lower
