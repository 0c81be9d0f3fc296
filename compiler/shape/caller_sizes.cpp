#include "shape/caller_sizes.h"

#include <fmt/format.h>

namespace dlcc {
namespace {

// The term with the symbol replaced by floor_div(size, multiple), where the size has the caller's name. If the
// coefficient is divisible by the multiple, the size itself replaces both.
Dim in_caller_size(Dim::Term term, const InputDim& dim) {
  const Symbol size{dim.name, dim.low(), dim.high()};
  Dim factors = 1;
  for (const auto& atom : term.atoms) {
    const Dim factor = Dim::of_atom(atom);
    if (factor != Dim::symbol(dim.symbol)) {
      factors = factors * factor.substitute({{dim.symbol.name, floor_div(Dim::symbol(size), dim.multiple)}});
    } else if (term.coefficient % dim.multiple == 0) {
      term.coefficient /= dim.multiple;
      factors = factors * Dim::symbol(size);
    } else {
      factors = factors * floor_div(Dim::symbol(size), dim.multiple);
    }
  }
  return Dim(term.coefficient) * factors;
}

}  // namespace

std::string bounds_of(const InputDim& d) {
  std::string text =
      d.is_bounded() ? fmt::format("in [{}, {}]", d.low(), d.high()) : fmt::format("at least {}", d.low());
  return d.multiple == 1 ? text : text + fmt::format(" and a multiple of {}", d.multiple);
}

Dim in_caller_sizes(const Dim& d, const std::vector<InputDim>& dims) {
  Dim result = d;
  for (const InputDim& dim : dims) {
    if (dim.name == dim.symbol.name || result.is_overflow()) continue;
    Dim sum = 0;
    for (const Dim::Term& term : result.terms()) sum = sum + in_caller_size(term, dim);
    result = sum;
  }
  return result;
}

}  // namespace dlcc
