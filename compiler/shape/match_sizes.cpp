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

// The ways to find the value of a symbol, in the order of preference.
std::optional<Dim> same(const Symbol& s, const DimPair& pair, const Sizes&) {
  return pair.param == Dim::symbol(s) ? std::optional(pair.argument) : std::nullopt;
}
std::optional<Dim> solved_exactly(const Symbol& s, const DimPair& pair, const Sizes& known) {
  return solve_for(s, pair.param, pair.argument, known);
}
std::optional<Dim> solved_and_rounded(const Symbol& s, const DimPair& pair, const Sizes& known) {
  const auto solution = solution_of(s, pair.param, pair.argument, known);
  if (!solution) return std::nullopt;
  Dim quotient = floor_div(solution->dividend, solution->divisor);
  return quotient.is_overflow() ? std::nullopt : std::optional(std::move(quotient));
}

// Finds for each unknown symbol a symbol of the argument such that the dimensions become equal, as m for n where n * n
// is to be m * m. Tries the symbols of the same names, then all symbols of the argument in the order of their names.
bool rename(const std::vector<Symbol>& unknown, const DimPair& pair, Sizes& sizes) {
  const std::vector<Symbol> symbols = pair.argument.symbols();
  auto is_solution = [&](const std::vector<Symbol>& values) {
    Sizes renamed = sizes;
    for (size_t k = 0; k < unknown.size(); ++k) renamed.emplace(unknown[k].name, Dim::symbol(values[k]));
    if (!(pair.param.substitute(renamed) == pair.argument)) return false;
    sizes = std::move(renamed);
    return true;
  };
  if (unknown.empty()) return false;
  std::vector<Symbol> same_names;
  for (const Symbol& s : unknown)
    std::ranges::copy_if(symbols, std::back_inserter(same_names), [&](const Symbol& t) { return s == t; });
  if (same_names.size() == unknown.size() && is_solution(same_names)) return true;
  if (unknown.size() == 1) return std::ranges::any_of(symbols, [&](const Symbol& s) { return is_solution({s}); });
  return symbols.size() == unknown.size() && is_solution(symbols);
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
  auto find_by_renaming = [&] {
    return std::ranges::any_of(pairs,
                               [&](const DimPair& pair) { return rename(unknown_symbols(pair.param), pair, sizes); });
  };
  while (find_by(same) || find_by(solved_exactly) || find_by(solved_and_rounded) || find_by_renaming()) {
  }
}

}  // namespace dlcc
