#include "lower/largest_size.h"

#include <algorithm>

namespace dlcc::lower {
namespace {

class Bounder {
 public:
  explicit Bounder(const Program& program) {
    for (const DataSize& d : program.data_sizes) largest_.emplace(d.symbol.name, d.most);
  }

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

  std::map<std::string, Dim> largest_;
};

}  // namespace

std::vector<Symbol> entry_symbols(const Program& program) {
  std::vector<Symbol> symbols;
  for (const InputDim& d : program.dims) symbols.push_back(d.symbol);
  symbols.insert(symbols.end(), program.input_sizes.begin(), program.input_sizes.end());
  return symbols;
}

bool has_symbols(const Program& program) {
  return !program.dims.empty() || !program.input_sizes.empty() || !program.data_sizes.empty();
}

Dim largest_size(const Program& program, const Dim& d) {
  return program.data_sizes.empty() ? d : Bounder(program).upper(d);
}

std::map<std::string, int64_t> with_largest_data_sizes(const Program& program, std::map<std::string, int64_t> given) {
  for (const DataSize& d : program.data_sizes)
    if (!given.contains(d.symbol.name)) given[d.symbol.name] = d.most.evaluate(given).value_or(0);
  return given;
}

}  // namespace dlcc::lower
