#include "shape/match_sizes.h"

#include <algorithm>

namespace dlcc {

namespace {

using Sizes = std::map<std::string, Dim>;

struct Quotient {
  Dim dividend;
  int64_t divisor;
};

// The quotient that is the value of the symbol for which `d` is `value`, if `d` is linear in the symbol.
std::optional<Quotient> solution_of(const Symbol& symbol, const Dim& d, const Dim& value, const Sizes& known) {
  for (const Dim::Term& t : d.terms()) {
    if (t.atoms.size() != 1 || t.atoms[0]->kind != DimAtom::Kind::symbol || t.atoms[0]->symbol != symbol) continue;
    const Dim rest = d - Dim::sum_of({t});
    if (std::ranges::count(rest.symbols(), symbol) > 0) return std::nullopt;
    return Quotient{value - rest.substitute(known), t.coefficient};
  }
  return std::nullopt;
}

// The symbol of the argument that makes the dimensions equal: n * n and m * m give m.
std::optional<Dim> renamed(const Symbol& symbol, const DimPair& pair, Sizes known) {
  for (const Symbol& s : pair.argument.symbols()) {
    known.insert_or_assign(symbol.name, Dim::symbol(s));
    if (pair.param.substitute(known) == pair.argument) return Dim::symbol(s);
  }
  return std::nullopt;
}

// The ways to find the value of a symbol, in the order of preference.
std::optional<Dim> same(const Symbol& s, const DimPair& pair, const Sizes&) {
  return pair.param == Dim::symbol(s) ? std::optional(pair.argument) : std::nullopt;
}
std::optional<Dim> solved_exactly(const Symbol& s, const DimPair& pair, const Sizes& known) {
  return solve_for(s, pair.param, pair.argument, known);
}
std::optional<Dim> solved_and_rounded(const Symbol& s, const DimPair& pair, const Sizes& known) {
  const auto solution = solution_of(s, pair.param, pair.argument, known);
  return solution ? std::optional(floor_div(solution->dividend, solution->divisor)) : std::nullopt;
}

}  // namespace

std::optional<Dim> solve_for(const Symbol& symbol, const Dim& d, const Dim& value, const Sizes& known) {
  const auto solution = solution_of(symbol, d, value, known);
  if (!solution) return std::nullopt;
  Dim quotient = floor_div(solution->dividend, solution->divisor);
  const bool is_exact = quotient * Dim(solution->divisor) == solution->dividend;
  return is_exact ? std::optional(std::move(quotient)) : std::nullopt;
}

void match_sizes(const std::vector<DimPair>& pairs, const std::function<bool(const std::string&)>& quantified,
                 Sizes& sizes) {
  auto unknown_symbols = [&](const Dim& d) {
    std::vector<Symbol> symbols = d.symbols();
    std::erase_if(symbols, [&](const Symbol& s) { return !quantified(s.name) || sizes.contains(s.name); });
    return symbols;
  };
  auto find_by = [&](auto way) {
    const size_t before = sizes.size();
    for (const DimPair& pair : pairs)
      if (const auto unknown = unknown_symbols(pair.param); unknown.size() == 1)
        if (auto value = way(unknown[0], pair, sizes)) sizes.emplace(unknown[0].name, std::move(*value));
    return sizes.size() > before;
  };
  while (find_by(same) || find_by(solved_exactly) || find_by(renamed) || find_by(solved_and_rounded)) {
  }
}

}  // namespace dlcc
