#include "shape/size_growth.h"

#include "shape/largest_dim.h"

namespace dlcc {
namespace {

constexpr int max_alternatives = 100;  // bounds the alternatives of nested minima and maxima

class GrowthSearch {
 public:
  GrowthSearch(const Dim& size, const std::function<bool(const Dim&)>& is_inner) : size_(size), is_inner_(is_inner) {}

  // Extends `growth` so that it holds for the size `after`, too.
  bool add(const Dim& after, SizeGrowth& growth) {
    if (--steps_ < 0 || after.is_overflow()) return false;
    const Dim increment = after - size_;
    if (!is_inner_(after))
      growth.least = max(growth.least, after);
    else if (!is_inner_(increment))
      growth.increment = max(growth.increment, increment);
    else if (!provably_le(after, size_))
      return add_alternatives(after, growth);
    return true;
  }

 private:
  // Replaces a minimum or maximum by its operands: a maximum by both, one after the other; a minimum by the one that
  // grows less, since the bound of an operand that does not grow is independent of the number of iterations. What is
  // subtracted counts as the opposite: -max(a, b) is min(-a, -b).
  bool add_alternatives(const Dim& after, SizeGrowth& growth) {
    for (const Dim::Term& term : after.terms()) {
      for (size_t k = 0; k < term.atoms.size(); ++k) {
        const DimAtom& atom = *term.atoms[k];
        if (atom.kind != DimAtom::Kind::min && atom.kind != DimAtom::Kind::max) continue;
        Dim::Term rest = term;
        rest.atoms.erase(rest.atoms.begin() + static_cast<std::ptrdiff_t>(k));
        const Dim factor = Dim::sum_of({rest}), others = after - Dim::sum_of({term});
        const bool is_added = provably_le(0, factor);
        if (!is_added && !provably_le(factor, 0)) continue;
        const Dim first = others + factor * atom.args[0], second = others + factor * atom.args[1];
        SizeGrowth one = growth, other = growth;
        const bool has_first = add(first, one);
        if ((atom.kind == DimAtom::Kind::max) == is_added) {
          if (!has_first || !add(second, one)) continue;
          growth = one;
          return true;
        }
        const bool has_second = add(second, other);
        if (!has_first && !has_second) continue;
        const bool is_second = !has_first || (has_second && provably_lt(other.increment, one.increment));
        growth = is_second ? other : one;
        return true;
      }
    }
    return false;
  }

  const Dim& size_;
  const std::function<bool(const Dim&)>& is_inner_;
  int steps_ = max_alternatives;
};

}  // namespace

std::optional<SizeGrowth> size_growth(const Dim& after, const Dim& size, const std::map<std::string, Dim>& largest,
                                      const std::function<bool(const Dim&)>& is_inner) {
  Dim most = after;
  for (size_t k = 0; k <= largest.size(); ++k) {
    const Dim next = largest_dim(most, largest);
    if (next == most) break;
    most = next;
  }
  SizeGrowth growth;
  return GrowthSearch(size, is_inner).add(most, growth) ? std::optional(growth) : std::nullopt;
}

}  // namespace dlcc
