#include "shape/largest_dim.h"

#include <algorithm>

namespace dlcc {
namespace {

class Bounder {
 public:
  explicit Bounder(const std::map<std::string, Dim>& largest) : largest_(largest) {}

  Dim upper(const Dim& d) const { return bound(d, true); }

 private:
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
      for (const auto& atom : term.atoms) product = product * bound(*atom, rises);
      sum = sum + product;
    }
    return sum;
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

  const std::map<std::string, Dim>& largest_;
};

}  // namespace

Dim largest_dim(const Dim& d, const std::map<std::string, Dim>& largest) { return Bounder(largest).upper(d); }

}  // namespace dlcc
