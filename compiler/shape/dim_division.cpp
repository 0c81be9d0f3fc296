// Division of dims, minimum and maximum.
#include <fmt/format.h>

#include <algorithm>

#include "shape/dim_bounds.h"
#include "shape/dim_identities.h"
#include "shape/monomials.h"
#include "support/diagnostics.h"
#include "support/integers.h"

namespace dlcc {

namespace {

using Term = Dim::Term;
using Terms = std::vector<Term>;

Dim atom_of(DimAtom::Kind kind, const Dim& a, const Dim& b) {
  const int64_t count = 1 + a.atom_count() + b.atom_count();
  if (count > Dim::max_atoms) return Dim::overflow();
  return Dim::of_atom(std::make_shared<const DimAtom>(DimAtom{kind, {}, {a, b}, count}));
}

bool at_least(const Dim& d, int64_t bound) { return is_at_least(d, bound, {}); }

// The greatest monomial with positive factors that divides all terms of `a` and of `b`; neither is empty.
Term content(const Terms& a, const Terms& b) {
  Term common = b[0];
  for (const Terms* list : {&a, &b})
    for (const Term& t : *list) common = greatest_common_divisor(common, t);
  std::erase_if(common.atoms, [](const auto& atom) { return !at_least(Dim::of_atom(atom), 1); });
  return common;
}

Dim divided(const Terms& terms, const Term& divisor) {
  Terms quotients;
  for (const Term& t : terms) quotients.push_back(*exact_quotient(t, divisor));
  return Dim::sum_of(std::move(quotients));
}

// a / b for a polynomial `b` that divides `a`, by long division; empty if it does not.
std::optional<Dim> polynomial_quotient(Dim a, const Dim& b) {
  Dim quotient;
  for (int steps = 0; !a.terms().empty(); ++steps) {
    auto lead = exact_quotient(a.terms()[0], b.terms()[0]);
    if (!lead || steps > 16) return std::nullopt;
    Dim part = Dim::sum_of({*lead});
    quotient = quotient + part;
    a = a - part * b;
    if (a.is_overflow() || quotient.is_overflow()) return std::nullopt;
  }
  return quotient;
}

// The quotient a / b for b >= 1, if the bounds of both admit a single value.
std::optional<int64_t> only_quotient(const Dim& a, const Dim& b) {
  const Dim quotient = atom_of(DimAtom::Kind::floor_div, a, b);
  auto low = quotient.lower_bound();
  return low && low == quotient.upper_bound() ? low : std::nullopt;
}

// q for a = q * b; empty if `b` does not divide `a`.
std::optional<Dim> exact_quotient(const Dim& a, const Dim& b) {
  if (b.terms().size() > 1) return polynomial_quotient(a, b);
  Split s = split_multiples(a, b.terms()[0]);
  return s.rest.empty() ? std::optional(Dim::sum_of(std::move(s.whole))) : std::nullopt;
}

// floor_div(a, b) for b >= 1 where no term of `a` is a multiple of `b`.
Dim quotient_of_rest(const Terms& a, const Dim& b) {
  Terms variable = a;
  int64_t constant = 0;
  if (b.is_constant() && !variable.empty() && variable.back().atoms.empty()) {
    constant = variable.back().coefficient;  // in [0, b)
    variable.pop_back();
  }
  if (variable.empty()) return 0;
  // (g * x + c) / (g * y) is (x + floor(c / g)) / y.
  const Term g = content(variable, b.terms());
  Dim numerator = divided(variable, g) + Dim(constant / g.coefficient), denominator = divided(b.terms(), g);
  if (denominator == Dim(1)) return numerator;
  if (at_least(numerator, 0) && provably_lt(numerator, denominator)) return 0;
  if (auto only = only_quotient(numerator, denominator)) return *only;
  // (floor(x / y) + c) / z is (x + c * y) / (y * z).
  const Terms& terms = numerator.terms();
  const int64_t added = terms.back().atoms.empty() ? terms.back().coefficient : 0;
  const bool is_one_atom = terms.size() == (added ? 2 : 1) && terms[0].coefficient == 1 && terms[0].atoms.size() == 1;
  if (is_one_atom && terms[0].atoms[0]->kind == DimAtom::Kind::floor_div) {
    const Dim &x = terms[0].atoms[0]->args[0], &y = terms[0].atoms[0]->args[1];
    if (at_least(y, 1)) return floor_div(x + Dim(added) * y, y * denominator);
  }
  // A quotient of a negative dim is rounded up as that of the opposite.
  if (denominator.is_constant() && terms[0].coefficient < 0)
    return Dim(0) - floor_div(denominator - Dim(1) - numerator, denominator);
  return atom_of(DimAtom::Kind::floor_div, numerator, denominator);
}

// floor_div(a, b) for b >= 1.
Dim quotient_by_positive(const Dim& dividend, const Dim& b) {
  const Dim a = with_multiples(dividend);
  if (b.terms().size() > 1) {
    auto exact = polynomial_quotient(a, b);
    return exact ? *exact : quotient_of_rest(a.terms(), b);
  }
  Split s = split_multiples(a, b.terms()[0]);
  Dim rest = Dim::sum_of(std::move(s.rest));
  return Dim::sum_of(std::move(s.whole)) + quotient_of_rest(rest.terms(), b);
}

// floor_mod(c * floor_mod(x, k) + y, b) is floor_mod(c * x + y, b) if c * k is a multiple of b.
Dim without_inner_remainders(const Dim& a, int64_t b) {
  Dim sum = a;
  for (const Term& t : a.terms()) {
    const bool is_atom = t.atoms.size() == 1 && t.atoms[0]->kind == DimAtom::Kind::floor_mod;
    if (!is_atom || !split_multiples(Dim(t.coefficient) * t.atoms[0]->args[1], {{}, b}).rest.empty()) continue;
    sum = sum - Dim::sum_of({t}) + Dim(t.coefficient) * t.atoms[0]->args[0];
  }
  return sum.is_overflow() ? a : sum;
}

// floor_mod(a, b) for b >= 1.
Dim remainder_by_positive(const Dim& a, const Dim& b) {
  Terms rest = b.is_constant() ? without_inner_remainders(with_multiples(a), b.value()).terms() : a.terms();
  if (b.terms().size() == 1) rest = split_multiples(Dim::sum_of(std::move(rest)), b.terms()[0]).rest;
  if (b.is_constant())
    for (Term& t : rest) t.coefficient = floor_remainder(t.coefficient, b.value());
  Dim sum = Dim::sum_of(std::move(rest));
  if (sum == Dim(0) || (b.terms().size() > 1 && polynomial_quotient(sum, b))) return 0;
  if (at_least(sum, 0) && provably_lt(sum, b)) return sum;
  if (auto quotient = only_quotient(sum, b)) return sum - Dim(*quotient) * b;
  const Term g = content(sum.terms(), b.terms());
  Dim dividend = divided(sum.terms(), g), divisor = divided(b.terms(), g);
  if (divisor == Dim(1)) return 0;
  return Dim::sum_of({g}) * atom_of(DimAtom::Kind::floor_mod, dividend, divisor);
}

}  // namespace

Dim floor_div(const Dim& a, const Dim& b) {
  if (a.is_overflow() || b.is_overflow()) return Dim::overflow();
  if (a == Dim(0) || b == Dim(0)) return 0;
  if (b == Dim(1)) return a;
  if (a.is_constant() && b.is_constant() && b.value() != -1) return floor_quotient(a.value(), b.value());
  if (at_least(b, 1)) return quotient_by_positive(a, b);
  const Dim opposite = Dim(0) - b;
  if (at_least(opposite, 1)) return floor_div(Dim(0) - a, opposite);
  if (at_least(b, 0))
    if (auto quotient = exact_quotient(a, b)) return *quotient * min(b, 1);  // 0 if b is 0
  return atom_of(DimAtom::Kind::floor_div, a, b);
}

Dim floor_mod(const Dim& a, const Dim& b) {
  if (a.is_overflow() || b.is_overflow()) return Dim::overflow();
  if (b == Dim(0)) return 0;
  if (a == Dim(0) || a == b || b == Dim(1) || b == Dim(-1)) return 0;
  if (a.is_constant() && b.is_constant()) return floor_remainder(a.value(), b.value());
  if (at_least(b, 1)) return remainder_by_positive(a, b);
  if (at_least(b, 0) && exact_quotient(a, b)) return 0;
  return atom_of(DimAtom::Kind::floor_mod, a, b);
}

namespace {

// Adds the operands of a minimum, or maximum, at any depth of nesting.
void add_operands(DimAtom::Kind kind, const Dim& d, std::vector<Dim>& operands) {
  const bool is_atom = d.terms().size() == 1 && d.terms()[0].coefficient == 1 && d.terms()[0].atoms.size() == 1;
  if (!is_atom || d.terms()[0].atoms[0]->kind != kind) return operands.push_back(d);
  for (const Dim& operand : d.terms()[0].atoms[0]->args) add_operands(kind, operand, operands);
}

// A minimum or maximum of a and b, and of their operands if they are such: in the canonical order, each once.
Dim extremum_of(DimAtom::Kind kind, const Dim& a, const Dim& b) {
  std::vector<Dim> operands;
  add_operands(kind, a, operands);
  add_operands(kind, b, operands);
  std::ranges::sort(operands, [](const Dim& x, const Dim& y) { return Dim::compare(x, y) < 0; });
  const auto repeated = std::ranges::unique(operands);
  operands.erase(repeated.begin(), repeated.end());
  Dim result = operands[0];
  for (size_t k = 1; k < operands.size(); ++k) {
    const bool is_ordered = Dim::compare(result, operands[k]) < 0;
    result = is_ordered ? atom_of(kind, result, operands[k]) : atom_of(kind, operands[k], result);
  }
  return result;
}

}  // namespace

// The bounds of int64 stand for "no bound" in exported models, and bound no size.
Dim min(const Dim& a, const Dim& b) {
  if (a.is_overflow() || b.is_overflow()) return Dim::overflow();
  if (a == Dim(INT64_MAX)) return b;
  if (b == Dim(INT64_MAX)) return a;
  if (provably_le(a, b)) return a;
  if (provably_le(b, a)) return b;
  if (a == Dim(1) || b == Dim(1))
    if (auto product = least_of_factors(a == Dim(1) ? b : a)) return *product;
  return extremum_of(DimAtom::Kind::min, a, b);
}

Dim max(const Dim& a, const Dim& b) {
  if (a.is_overflow() || b.is_overflow()) return Dim::overflow();
  if (a == Dim(INT64_MIN)) return b;
  if (b == Dim(INT64_MIN)) return a;
  if (provably_le(a, b)) return b;
  if (provably_le(b, a)) return a;
  return extremum_of(DimAtom::Kind::max, a, b);
}

Dim apply(DimAtom::Kind kind, const Dim& a, const Dim& b) {
  switch (kind) {
    case DimAtom::Kind::floor_div:
      return floor_div(a, b);
    case DimAtom::Kind::floor_mod:
      return floor_mod(a, b);
    case DimAtom::Kind::min:
      return min(a, b);
    case DimAtom::Kind::max:
      return max(a, b);
    case DimAtom::Kind::symbol:
      break;
  }
  DLCC_UNREACHABLE("atom of kind {}", static_cast<int>(kind));
}

}  // namespace dlcc
