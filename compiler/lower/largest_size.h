// Upper bounds of data-dependent sizes, and the sizes for which memory is planned.
#pragma once

#include <map>
#include <string>

#include "lower/program.h"
#include "shape/largest_dim.h"

namespace dlcc::lower {

// Whether the program has sizes that are not numbers.
bool has_symbols(const Program&);

// An upper bound of the size over the symbols that the caller gives: a data-dependent symbol is replaced by its largest
// value, or by 0 where the size decreases with the symbol, and a product of sizes that one branch defines by the
// largest one of either arm. Memory is planned for this bound.
class LargestSizes {
 public:
  explicit LargestSizes(const Program&);
  // Each bound is computed once, because it may need many proofs. Not for several threads.
  Dim operator()(const Dim&) const;

 private:
  mutable std::map<Dim, Dim, CanonicalOrder> bounds_;  // by size
  SymbolBounds largest_;                     // of all data-dependent symbols
  std::vector<AlternativeBounds> branches_;  // those of each branch that defines several sizes, by arm
};
Dim largest_size(const Program&, const Dim&);

// The values of all symbols, where the symbols that the caller gives have the given values and data-dependent ones
// their largest values. Sizes that one branch defines have those of the arm in which their product is largest.
std::map<std::string, int64_t> with_largest_data_sizes(const Program&, std::map<std::string, int64_t> given);

}  // namespace dlcc::lower
