// Monomials of dims: exact quotients and greatest common divisors. Internal to compiler/shape.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>

#include "shape/dim.h"
#include "support/integers.h"

namespace dlcc {

// The product of the atoms of `a` that `b` lacks, each counted as often as it occurs; empty unless `a` has all of b's.
inline std::optional<std::vector<std::shared_ptr<const DimAtom>>> atoms_without(
    std::vector<std::shared_ptr<const DimAtom>> a, const std::vector<std::shared_ptr<const DimAtom>>& b) {
  for (const auto& atom : b) {
    auto it = std::ranges::find_if(a, [&](const auto& x) { return Dim::compare(*x, *atom) == 0; });
    if (it == a.end()) return std::nullopt;
    a.erase(it);
  }
  return a;
}

// a / b if the quotient is a monomial.
inline std::optional<Dim::Term> exact_quotient(const Dim::Term& a, const Dim::Term& b) {
  if ((b.coefficient == -1 && a.coefficient == INT64_MIN) || a.coefficient % b.coefficient != 0) return std::nullopt;
  auto atoms = atoms_without(a.atoms, b.atoms);
  if (!atoms) return std::nullopt;
  return Dim::Term{std::move(*atoms), a.coefficient / b.coefficient};
}

// whole * b + rest, where no term of `rest` is a multiple of the monomial `b`. With a constant `b`, the constant term
// of `rest` is in [0, b).
struct Split {
  std::vector<Dim::Term> whole, rest;
};

inline Split split_multiples(const Dim& a, const Dim::Term& b) {
  Split s;
  for (const Dim::Term& t : a.terms()) {
    if (auto quotient = exact_quotient(t, b)) {
      s.whole.push_back(std::move(*quotient));
    } else if (t.atoms.empty() && b.atoms.empty()) {
      s.whole.push_back({{}, floor_quotient(t.coefficient, b.coefficient)});
      s.rest.push_back({{}, floor_remainder(t.coefficient, b.coefficient)});
    } else {
      s.rest.push_back(t);
    }
  }
  return s;
}

// The greatest monomial that divides both; its coefficient is positive.
inline Dim::Term greatest_common_divisor(const Dim::Term& a, const Dim::Term& b) {
  Dim::Term common{{}, 1};
  auto magnitude = [](int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); };
  const uint64_t factor = std::gcd(magnitude(a.coefficient), magnitude(b.coefficient));
  if (factor <= INT64_MAX) common.coefficient = static_cast<int64_t>(factor);
  std::vector<std::shared_ptr<const DimAtom>> rest = b.atoms;
  for (const auto& atom : a.atoms) {
    auto it = std::ranges::find_if(rest, [&](const auto& x) { return Dim::compare(*x, *atom) == 0; });
    if (it == rest.end()) continue;
    common.atoms.push_back(atom);
    rest.erase(it);
  }
  return common;
}

}  // namespace dlcc
