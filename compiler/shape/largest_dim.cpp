#include "shape/largest_dim.h"

#include <algorithm>
#include <memory>

namespace dlcc {
namespace {

class Bounder {
 public:
  Bounder(const SymbolBounds& largest, const std::vector<AlternativeBounds>& alternatives)
      : largest_(largest), alternatives_(alternatives) {}

  Dim upper(const Dim& d) const { return bound(d, true); }

 private:
  using Atoms = std::vector<std::shared_ptr<const DimAtom>>;

  bool depends(const Dim& d) const {
    return std::ranges::any_of(d.symbols(), [&](const Symbol& s) { return largest_.contains(s.name); });
  }

  // Symbols are not negative, so that a term rises with each of its factors.
  Dim bound(const Dim& d, bool is_upper) const {
    if (!depends(d)) return d;
    Dim sum = 0;
    for (const Dim::Term& term : d.terms()) {
      Dim product = term.coefficient;
      const bool rises = (term.coefficient > 0) == is_upper;
      Atoms atoms = term.atoms;
      if (rises)
        for (const AlternativeBounds& bounds : alternatives_) product = product * take_product(atoms, bounds);
      for (const auto& atom : atoms) product = product * bound(*atom, rises);
      sum = sum + product;
    }
    return sum;
  }

  // The largest product of those atoms that are symbols of `bounds`; removes these atoms. 1 if there are less than two.
  static Dim take_product(Atoms& atoms, const AlternativeBounds& bounds) {
    auto is_bounded = [&](const std::shared_ptr<const DimAtom>& a) {
      return a->kind == DimAtom::Kind::symbol && bounds[0].contains(a->symbol.name);
    };
    if (std::ranges::count_if(atoms, is_bounded) < 2) return 1;
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

  Dim bound(const DimAtom& atom, bool is_upper) const {
    if (atom.kind == DimAtom::Kind::symbol) {
      auto known = largest_.find(atom.symbol.name);
      return known == largest_.end() ? Dim::symbol(atom.symbol) : is_upper ? known->second : Dim(0);
    }
    switch (atom.kind) {
      case DimAtom::Kind::min:
        return min(bound(atom.args[0], is_upper), bound(atom.args[1], is_upper));
      case DimAtom::Kind::max:
        return max(bound(atom.args[0], is_upper), bound(atom.args[1], is_upper));
      case DimAtom::Kind::floor_div: {
        const Dim divisor = bound(atom.args[1], !is_upper);
        return floor_div(bound(atom.args[0], is_upper), depends(atom.args[1]) ? max(divisor, 1) : divisor);
      }
      default:
        return is_upper ? bound(atom.args[1], true) : Dim(0);
    }
  }

  const SymbolBounds& largest_;
  const std::vector<AlternativeBounds>& alternatives_;
};

}  // namespace

Dim largest_dim(const Dim& d, const SymbolBounds& largest, const std::vector<AlternativeBounds>& alternatives) {
  return Bounder(largest, alternatives).upper(d);
}

}  // namespace dlcc
