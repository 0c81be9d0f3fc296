#include "shape/dim_identities.h"

#include <algorithm>
#include <set>

#include "shape/dim_bounds.h"
#include "support/integers.h"

namespace dlcc {

namespace {

using Term = Dim::Term;

// The atom of a term c * atom, where the atom is of this kind and has a constant divisor of at least 2.
const DimAtom* only_atom(const Term& t, DimAtom::Kind kind) {
  if (t.atoms.size() != 1 || t.atoms[0]->kind != kind) return nullptr;
  const Dim& divisor = t.atoms[0]->args[1];
  return divisor.is_constant() && divisor.value() >= 2 ? t.atoms[0].get() : nullptr;
}

// The coefficient in `sum` of the atoms of `t`, 0 if it has no such term.
int64_t coefficient_in(const Dim& sum, const Term& t) {
  const Dim atoms = Dim::sum_of({{t.atoms, 1}});
  for (const Term& s : sum.terms())
    if (s.atoms.size() == t.atoms.size() && Dim::sum_of({{s.atoms, 1}}) == atoms) return s.coefficient;
  return 0;
}

// The dim without its constant, and the constant.
std::pair<Dim, int64_t> apart(const Dim& d) {
  std::vector<Term> variable = d.terms();
  if (variable.empty() || !variable.back().atoms.empty()) return {d, 0};
  const int64_t constant = variable.back().coefficient;
  variable.pop_back();
  return {Dim::sum_of(std::move(variable)), constant};
}

// Hermite's identity: n elements are taken apart into those at each position modulo k. The terms c * n and -c times
// some of the k quotients become c times the others, if these are fewer, and c times all quotients become c * n.
// Nothing is divided unless that is so: bounds are searched through many sums.
std::optional<Dim> with_parts_of_whole(const Dim& sum, const Term& term) {
  const DimAtom* quotient = only_atom(term, DimAtom::Kind::floor_div);
  if (!quotient || term.coefficient == INT64_MIN) return std::nullopt;
  const Dim& divisor = quotient->args[1];
  const int64_t parts = divisor.value(), c = term.coefficient;
  if (parts > 2 * static_cast<int64_t>(sum.terms().size())) return std::nullopt;
  const Dim n = apart(quotient->args[0]).first;
  std::vector<Term> rest = sum.terms();
  std::set<int64_t> present;
  std::erase_if(rest, [&](const Term& t) {
    const DimAtom* q = t.coefficient == c ? only_atom(t, DimAtom::Kind::floor_div) : nullptr;
    if (!q || !(q->args[1] == divisor)) return false;
    const auto [dividend, added] = apart(q->args[0]);
    return added >= 0 && added < parts && dividend == n && present.insert(added).second;
  });
  bool has_whole = true;
  for (Term t : n.terms()) {
    if (__builtin_mul_overflow(t.coefficient, c, &t.coefficient) || t.coefficient == INT64_MIN) return std::nullopt;
    has_whole = has_whole && coefficient_in(sum, t) == -t.coefficient;
    rest.push_back(std::move(t));
  }
  const auto count = static_cast<int64_t>(present.size());
  if (count < parts && (!has_whole || parts - count >= count + static_cast<int64_t>(n.terms().size())))
    return std::nullopt;
  Dim result = Dim::sum_of(std::move(rest));
  for (int64_t added = 0; added < parts; ++added)
    if (count < parts && !present.contains(added)) result = result - Dim(c) * floor_div(n + Dim(added), divisor);
  return with_identities(result);
}

enum class Rounding : uint8_t { up, both };

// sum = c * floor_mod(x, k) + rest. Each coefficient of x may change by a multiple of k. If some such x makes the terms
// of c * x cancel terms of the rest, the remainder becomes c * (x - k * floor_div(x, k)). The rest is rounded up if x
// is negative.
std::optional<Dim> as_rounded(const Dim& sum, const Term& term, Rounding rounding) {
  const DimAtom* remainder = only_atom(term, DimAtom::Kind::floor_mod);
  if (!remainder) return std::nullopt;
  const int64_t divisor = remainder->args[1].value(), c = term.coefficient;
  std::vector<Term> dividend;
  for (Term t : remainder->args[0].terms()) {
    if (!t.atoms.empty()) {
      const int64_t s = coefficient_in(sum, t);
      if (s == 0 || s == INT64_MIN || c == INT64_MIN || s % c != 0) return std::nullopt;
      int64_t change;
      if (__builtin_sub_overflow(-(s / c), t.coefficient, &change) || change % divisor != 0) return std::nullopt;
      t.coefficient = -(s / c);
    }
    dividend.push_back(std::move(t));
  }
  if (rounding == Rounding::up && dividend[0].coefficient > 0) return std::nullopt;
  const Dim x = Dim::sum_of(std::move(dividend)), rest = sum - Dim::sum_of({term});
  return rest + Dim(c) * x - Dim(c) * Dim(divisor) * floor_div(x, divisor);
}

using Atoms = std::vector<std::shared_ptr<const DimAtom>>;

// The x of an indicator: an atom min(x, 1) for x >= 0, which is 1 if x is positive and else 0.
const Dim* indicated_by(const DimAtom& atom) {
  if (atom.kind != DimAtom::Kind::min) return nullptr;
  const Dim *x = &atom.args[0], *one = &atom.args[1];
  if (*x == Dim(1)) std::swap(x, one);
  return *one == Dim(1) && is_at_least(*x, 0, {}) ? x : nullptr;
}

// Whether none of the factors is 0 only if the dim, or the atom, is at least 1.
bool is_positive_if_factors_are(const Dim& d, const Atoms& factors);

bool is_positive_if_factors_are(const DimAtom& atom, const Atoms& factors) {
  const Dim self = Dim::of_atom(std::make_shared<const DimAtom>(atom));
  if (!is_at_least(self, 0, {})) return false;
  for (const auto& factor : factors) {
    const Dim* x = indicated_by(*factor);
    if (Dim::compare(*factor, atom) == 0 || (x && *x == self)) return true;
  }
  const bool is_min = atom.kind == DimAtom::Kind::min;
  if (!is_min && atom.kind != DimAtom::Kind::max) return false;
  const bool first = is_positive_if_factors_are(atom.args[0], factors);
  return first != is_min ? first : is_positive_if_factors_are(atom.args[1], factors);
}

bool is_positive_if_factors_are(const Dim& d, const Atoms& factors) {
  if (is_at_least(d, 1, {})) return true;
  for (const auto& factor : factors)
    if (const Dim* x = indicated_by(*factor); x && *x == d) return true;
  bool has_positive = false;
  for (const Term& t : d.terms()) {
    if (!is_at_least(Dim::sum_of({t}), 0, {})) return false;
    has_positive = has_positive || std::ranges::all_of(t.atoms, [&](const auto& atom) {
                     return is_positive_if_factors_are(*atom, factors);
                   });
  }
  return has_positive;
}

bool contains(const Atoms& atoms, const DimAtom& atom) {
  return std::ranges::any_of(atoms, [&](const auto& other) { return Dim::compare(*other, atom) == 0; });
}

// The dim with 1 in place of each of these atoms that is a factor, also in operands.
Dim without_factors(const Dim& d, const Atoms& ones) {
  Dim sum;
  for (const Term& t : d.terms()) {
    Dim product = t.coefficient;
    for (const auto& atom : t.atoms) {
      if (contains(ones, *atom)) continue;
      const bool is_symbol = atom->kind == DimAtom::Kind::symbol;
      product = product * (is_symbol ? Dim::of_atom(atom)
                                     : apply(atom->kind, without_factors(atom->args[0], ones),
                                             without_factors(atom->args[1], ones)));
    }
    sum = sum + product;
  }
  return sum;
}

// The product of the factors and the indicators, if the operands of factor k are simpler where all indicators are 1:
// where one is 0, so is the product.
std::optional<Dim> with_simpler_operands(const Atoms& factors, size_t k, const Atoms& indicators) {
  const DimAtom& factor = *factors[k];
  if (factor.kind == DimAtom::Kind::symbol) return std::nullopt;
  const Dim a = without_factors(factor.args[0], indicators), b = without_factors(factor.args[1], indicators);
  if (a == factor.args[0] && b == factor.args[1]) return std::nullopt;
  Dim product = apply(factor.kind, a, b);
  for (size_t other = 0; other < factors.size(); ++other)
    if (other != k) product = product * Dim::of_atom(factors[other]);
  for (const auto& indicator : indicators) product = product * Dim::of_atom(indicator);
  return product;
}

}  // namespace

Dim with_identities(const Dim& sum) {
  if (sum.terms().size() < 2) return sum;
  for (size_t k = 0; k < sum.terms().size(); ++k) {
    std::optional<Dim> equal = with_parts_of_whole(sum, sum.terms()[k]);
    if (!equal) equal = as_rounded(sum, sum.terms()[k], Rounding::up);
    if (equal && !equal->is_overflow()) return *equal;
  }
  return sum;
}

Dim with_multiples(const Dim& sum) {
  for (const Term& t : sum.terms())
    if (auto rounded = as_rounded(sum, t, Rounding::both); rounded && !rounded->is_overflow()) return *rounded;
  return sum;
}

Dim product_of(Term t) {
  Atoms indicators;
  for (const auto& atom : t.atoms)
    if (indicated_by(*atom) && !contains(indicators, *atom)) indicators.push_back(atom);
  if (indicators.empty() || t.atoms.size() < 2) return Dim::sum_of({std::move(t)});
  Atoms others = t.atoms;
  std::erase_if(others, [&](const auto& atom) { return contains(indicators, *atom); });
  for (size_t k = 0; k < others.size(); ++k)
    if (auto product = with_simpler_operands(others, k, indicators)) return *product * Dim(t.coefficient);
  for (size_t k = 0; k < indicators.size();) {
    Atoms factors = others;
    for (size_t other = 0; other < indicators.size(); ++other)
      if (other != k) factors.push_back(indicators[other]);
    if (is_positive_if_factors_are(*indicated_by(*indicators[k]), factors))
      indicators.erase(indicators.begin() + static_cast<std::ptrdiff_t>(k));
    else
      ++k;
  }
  others.insert(others.end(), indicators.begin(), indicators.end());
  std::ranges::sort(others, [](const auto& a, const auto& b) { return Dim::compare(*a, *b) < 0; });
  return Dim::sum_of({{std::move(others), t.coefficient}});
}

std::optional<Dim> least_of_factors(const Dim& x) {
  if (x.terms().size() != 1 || x.terms()[0].coefficient < 1) return std::nullopt;
  const Term& t = x.terms()[0];
  if (t.atoms.empty() || (t.atoms.size() == 1 && t.coefficient == 1)) return std::nullopt;
  Dim product = 1;
  for (const auto& atom : t.atoms) {
    const Dim factor = Dim::of_atom(atom);
    if (!is_at_least(factor, 0, {})) return std::nullopt;
    product = product * min(factor, 1);
  }
  return product;
}

}  // namespace dlcc
