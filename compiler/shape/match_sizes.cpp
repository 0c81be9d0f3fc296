#include "shape/match_sizes.h"

#include <algorithm>

namespace dlcc {

std::optional<Dim> solve_for(const Symbol& symbol, const Dim& d, const Dim& value,
                             const std::map<std::string, Dim>& known) {
  for (const Dim::Term& t : d.terms()) {
    if (t.atoms.size() != 1 || t.atoms[0]->kind != DimAtom::Kind::symbol || t.atoms[0]->symbol != symbol) continue;
    const Dim rest = d - Dim::sum_of({t});
    if (std::ranges::count(rest.symbols(), symbol) > 0) return std::nullopt;
    const Dim multiple = value - rest.substitute(known);
    Dim solution = floor_div(multiple, t.coefficient);
    return solution * Dim(t.coefficient) == multiple ? std::optional(std::move(solution)) : std::nullopt;
  }
  return std::nullopt;
}

// The symbol of the argument that makes the dimensions equal: n * n and m * m give m.
static std::optional<Dim> renamed(const Symbol& symbol, const DimPair& pair, std::map<std::string, Dim> known) {
  for (const Symbol& s : pair.argument.symbols()) {
    known.insert_or_assign(symbol.name, Dim::symbol(s));
    if (pair.param.substitute(known) == pair.argument) return Dim::symbol(s);
  }
  return std::nullopt;
}

void match_sizes(const std::vector<DimPair>& pairs, const std::function<bool(const std::string&)>& quantified,
                 std::map<std::string, Dim>& sizes) {
  auto unknown_symbols = [&](const Dim& d) {
    std::vector<Symbol> symbols = d.symbols();
    std::erase_if(symbols, [&](const Symbol& s) { return !quantified(s.name) || sizes.contains(s.name); });
    return symbols;
  };
  for (const auto& [param, argument] : pairs)
    if (const auto unknown = unknown_symbols(param); unknown.size() == 1 && param == Dim::symbol(unknown[0]))
      sizes.emplace(unknown[0].name, argument);
  size_t found;
  do {
    found = sizes.size();
    for (const DimPair& pair : pairs) {
      const auto unknown = unknown_symbols(pair.param);
      if (unknown.size() != 1) continue;
      auto value = solve_for(unknown[0], pair.param, pair.argument, sizes);
      if (!value) value = renamed(unknown[0], pair, sizes);
      if (value) sizes.emplace(unknown[0].name, std::move(*value));
    }
  } while (found != sizes.size());
}

}  // namespace dlcc
