#include "shape/largest_dim.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace dlcc {
namespace {

struct DimInterval {
  Dim low, high;

  bool is_exact() const { return low == high; }
  bool is_nonnegative() const { return provably_le(0, low); }
  bool is_nonpositive() const { return provably_le(high, 0); }
};

DimInterval operator+(const DimInterval& a, const DimInterval& b) { return {a.low + b.low, a.high + b.high}; }

// Interval arithmetic (Moore, "Interval Analysis", 1966); fewer corners where signs are known.
DimInterval operator*(const DimInterval& a, const DimInterval& b) {
  if (b.is_exact() && !a.is_exact()) return b * a;
  if (a.is_nonnegative() && (a.is_exact() || b.is_nonnegative())) return {a.low * b.low, a.high * b.high};
  if (a.is_nonpositive() && (a.is_exact() || b.is_nonpositive())) return {a.high * b.high, a.low * b.low};
  if (a.is_nonnegative() && b.is_nonpositive()) return {a.high * b.low, a.low * b.high};
  if (a.is_nonpositive() && b.is_nonnegative()) return {a.low * b.high, a.high * b.low};
  const Dim corners[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  if (a.is_exact()) return {min(corners[0], corners[1]), max(corners[0], corners[1])};
  return {min(min(corners[0], corners[1]), min(corners[2], corners[3])),
          max(max(corners[0], corners[1]), max(corners[2], corners[3]))};
}

class Bounder {
 public:
  Bounder(const SymbolBounds& largest, const std::vector<AlternativeBounds>& alternatives)
      : largest_(largest), alternatives_(alternatives) {}

  // The values of the dim for all values of the bounded symbols.
  DimInterval range(const Dim& d) const {
    if (!depends(d)) return {d, d};
    // Terms with equal bounded atoms are bounded together: c * n - c * floor_div(n, 2) is (n - floor_div(n, 2)) times
    // the bounded c.
    std::map<Dim, std::pair<Atoms, Dim>, CanonicalOrder>
        factors;  // by the product of the bounded atoms: these, and their factor
    for (const Dim::Term& term : d.terms()) {
      Dim factor = term.coefficient, product = 1;
      Atoms atoms;
      for (const auto& atom : term.atoms) {
        const Dim value = Dim::of_atom(atom);
        if (!depends(value)) {
          factor = factor * value;
          continue;
        }
        product = product * value;
        atoms.push_back(atom);
      }
      auto& group = factors.try_emplace(product, std::move(atoms), Dim(0)).first->second;
      group.second = group.second + factor;
    }
    DimInterval sum{0, 0};
    for (auto& [product, group] : factors) sum = sum + range(group.first, group.second);
    return sum;
  }

 private:
  using Atoms = std::vector<std::shared_ptr<const DimAtom>>;

  bool depends(const Dim& d) const {
    return std::ranges::any_of(d.symbols(), [&](const Symbol& s) { return largest_.contains(s.name); });
  }

  // The values of the product of the atoms and a factor that has no bounded symbol.
  DimInterval range(Atoms& atoms, const Dim& factor) const {
    DimInterval product{factor, factor};
    for (const AlternativeBounds& bounds : alternatives_)
      if (const std::optional<Dim> largest = take_product(atoms, bounds)) product = product * DimInterval{0, *largest};
    for (const auto& atom : atoms) product = product * range(*atom);
    return product;
  }

  // The largest product of those atoms that are symbols of `bounds`; removes these atoms. Empty if there are less than
  // two.
  static std::optional<Dim> take_product(Atoms& atoms, const AlternativeBounds& bounds) {
    auto is_bounded = [&](const std::shared_ptr<const DimAtom>& a) {
      return a->kind == DimAtom::Kind::symbol && bounds[0].contains(a->symbol.name);
    };
    if (std::ranges::count_if(atoms, is_bounded) < 2) return std::nullopt;
    Dim largest = 0;
    for (const SymbolBounds& alternative : bounds) {
      Dim product = 1;
      for (const auto& a : atoms)
        if (is_bounded(a)) product = product * alternative.at(a->symbol.name);
      largest = max(largest, product);
    }
    std::erase_if(atoms, is_bounded);
    return largest;
  }

  DimInterval range(const DimAtom& atom) const {
    if (atom.kind == DimAtom::Kind::symbol) {
      const auto known = largest_.find(atom.symbol.name);
      return known == largest_.end() ? DimInterval{Dim::symbol(atom.symbol), Dim::symbol(atom.symbol)}
                                     : DimInterval{0, known->second};
    }
    const DimInterval a = range(atom.args[0]), b = range(atom.args[1]);
    switch (atom.kind) {
      case DimAtom::Kind::min:
        return {min(a.low, b.low), min(a.high, b.high)};
      case DimAtom::Kind::max:
        return {max(a.low, b.low), max(a.high, b.high)};
      case DimAtom::Kind::floor_div:
        return quotient(a, b);
      default:  // the remainder has the sign of the divisor
        return {b.is_nonnegative() ? Dim(0) : min(b.low, 0), b.is_nonpositive() ? Dim(0) : max(b.high, 0)};
    }
  }

  // A quotient by 0 is 0. A quotient has the largest magnitude where the divisor is 1 or -1.
  static DimInterval quotient(const DimInterval& a, const DimInterval& b) {
    if (b.is_exact()) {
      const Dim low = floor_div(a.low, b.low), high = floor_div(a.high, b.low);
      if (b.is_nonnegative()) return {low, high};
      if (b.is_nonpositive()) return {high, low};
      return {min(low, high), max(low, high)};
    }
    const Dim largest = max(max(a.high, Dim(0) - a.low), 0);
    if (!b.is_nonnegative()) return {Dim(0) - largest, largest};
    const Dim least = max(b.low, 1);
    const bool may_be_zero = !provably_le(1, b.low);
    DimInterval result{a.is_nonnegative() ? floor_div(a.low, b.high) : floor_div(a.low, least),
                       a.is_nonpositive() ? floor_div(a.high, b.high) : floor_div(a.high, least)};
    if (!a.is_nonnegative() && !a.is_nonpositive()) result = {min(result.low, 0), max(result.high, 0)};
    if (may_be_zero) result = {min(result.low, 0), max(result.high, 0)};
    return result;
  }

  const SymbolBounds& largest_;
  const std::vector<AlternativeBounds>& alternatives_;
};

}  // namespace

Dim largest_dim(const Dim& d, const SymbolBounds& largest, const std::vector<AlternativeBounds>& alternatives) {
  return Bounder(largest, alternatives).range(d).high;
}

}  // namespace dlcc
