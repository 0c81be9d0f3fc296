// Upper bounds of dims by bounds of their symbols.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shape/dim.h"

namespace dlcc {

// Orders dims by their canonical forms, for maps.
struct CanonicalOrder {
  bool operator()(const Dim& a, const Dim& b) const { return Dim::compare(a, b) < 0; }
};

using SymbolBounds = std::map<std::string, Dim>;

// Symbols that are bounded together: their values are within one of these bounds, which all have the same symbols.
using AlternativeBounds = std::vector<SymbolBounds>;

// An upper bound of the dim, by interval arithmetic: each symbol of `largest` is between 0 and its largest value. The
// bound depends on the other symbols only. A product of several symbols of `alternatives` is replaced by its largest
// value in one of them: for (a, b) <= (1, n) or (a, b) <= (n, 1), the product a * b is at most n. `largest` has the
// symbols of `alternatives`, too.
Dim largest_dim(const Dim&, const SymbolBounds& largest, const std::vector<AlternativeBounds>& alternatives = {});

}  // namespace dlcc
