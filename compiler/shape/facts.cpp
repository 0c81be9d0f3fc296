#include "shape/facts.h"

#include <algorithm>

#include "shape/dim_bounds.h"
#include "shape/match_sizes.h"
#include "shape/monomials.h"
#include "support/integers.h"

namespace dlcc {

namespace {

bool is_symbol(const Dim::Term& t) { return t.atoms.size() == 1 && t.atoms[0]->kind == DimAtom::Kind::symbol; }

// Whether symbol `a` rather than `b` is replaced when an equation determines both.
bool goes_first(const std::string& a, const std::string& b) {
  const bool unknown_a = a.starts_with('?'), unknown_b = b.starts_with('?');
  return unknown_a != unknown_b ? unknown_a : a > b;
}

struct Solution {
  Symbol symbol;
  Dim value;
};

// A symbol that the equation d = 0 determines, and its value.
std::optional<Solution> solve(const Dim& d) {
  std::optional<Solution> best;
  for (const Dim::Term& t : d.terms()) {
    if (!is_symbol(t)) continue;
    const Symbol& symbol = t.atoms[0]->symbol;
    if (best && !goes_first(symbol.name, best->symbol.name)) continue;
    if (auto value = solve_for(symbol, d, 0, {})) best = {symbol, std::move(*value)};
  }
  return best;
}

}  // namespace

void Facts::replace(const Symbol& symbol, const Dim& by) {
  const std::map<std::string, Dim> change = {{symbol.name, by}};
  for (auto& [name, value] : replaced_) value = value.substitute(change);
  for (Dim& d : nonnegative_) d = d.substitute(change);
  replaced_.emplace(symbol.name, by);
}

bool Facts::assume_le(const Dim& a, const Dim& b) {
  const Dim difference = apply(b) - apply(a);
  if (provably_lt(b, a)) return false;
  if (!difference.is_constant() && !provably_le(a, b)) nonnegative_.push_back(difference);
  return true;
}

bool Facts::assume_equal(const Dim& a, const Dim& b) {
  const Dim difference = apply(a) - apply(b);
  if (difference == Dim(0)) return true;
  if (difference.is_overflow() || provably_lt(a, b) || provably_lt(b, a)) return false;
  auto solution = solve(difference);
  if (!solution) {
    nonnegative_.push_back(difference);
    nonnegative_.push_back(Dim(0) - difference);
    return true;
  }
  const auto& [symbol, value] = *solution;
  const bool in_bounds = !provably_lt(value, symbol.low) && !provably_lt(symbol.high, value);
  if (!in_bounds) return false;
  replace(symbol, value);
  assume_le(symbol.low, value);
  if (symbol.high != INT64_MAX) assume_le(value, symbol.high);
  return true;
}

bool Facts::provably_le(const Dim& a, const Dim& b) const {
  return is_at_least(apply(b - a), 0, nonnegative_);
}

std::optional<int64_t> Facts::lower_bound(const Dim& d) const { return dlcc::lower_bound(apply(d), nonnegative_); }

// With b = g * c and a = b * whole + g * part + rest, where 0 <= rest < g, the quotient is whole + part / c.
std::optional<Facts::Division> Facts::divide(const Dim& dividend, const Dim& divisor) const {
  const Dim a = apply(dividend), b = apply(divisor);
  if (a.is_overflow() || b.is_overflow() || !provably_le(1, b)) return std::nullopt;
  if (provably_le(0, a) && provably_lt(a, b)) return Division{0, a};
  if (b.terms().size() != 1) return std::nullopt;
  const Dim::Term& monomial = b.terms()[0];
  Split s = split_multiples(a, monomial);
  const Dim whole = Dim::sum_of(std::move(s.whole)), remainder = Dim::sum_of(s.rest);
  if (whole.is_overflow() || remainder.is_overflow()) return std::nullopt;
  if (provably_le(0, remainder) && provably_lt(remainder, b)) return Division{whole, remainder};
  for (const Dim::Term& t : s.rest) {
    const Dim::Term common = greatest_common_divisor(t, monomial);
    const Dim g = Dim::sum_of({common});
    if (g == Dim(1) || g == b || !provably_le(1, g)) continue;
    Split by_g = split_multiples(remainder, common);
    const Dim part = Dim::sum_of(std::move(by_g.whole)), rest = Dim::sum_of(std::move(by_g.rest));
    if (!provably_le(0, rest) || !provably_lt(rest, g)) continue;
    const Dim c = Dim::sum_of({*exact_quotient(monomial, common)});
    const Division inner = divide(part, c).value_or(Division{floor_div(part, c), floor_mod(part, c)});
    return Division{whole + inner.quotient, g * inner.remainder + rest};
  }
  if (whole == Dim(0)) return std::nullopt;
  return Division{whole + floor_div(remainder, b), floor_mod(remainder, b)};
}

}  // namespace dlcc
