// The sizes that are not negative where a condition holds, of a branch or a requirement: 49 - n where n < 50, and n -
// 50 where not.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

class ComparedSizes {
 public:
  // `symbols`: the sizes that are known before the run.
  explicit ComparedSizes(std::vector<Symbol> symbols) : symbols_(std::move(symbols)) {}

  // Scalars must be defined before they are used in conditions.
  void define(const Compute&);

  // Sizes over the symbols that are at least 0 wherever `condition` is `value`: those that its comparisons compare,
  // without comparisons whose computation may wrap for symbols in [0, 2^40].
  std::vector<Dim> natural_where(const tensor::Expr& condition, bool value) const;

 private:
  std::optional<Dim> size(const tensor::Expr&) const;
  void add_compared(const tensor::Binary& comparison, bool value, std::vector<Dim>& natural) const;

  std::vector<Symbol> symbols_;
  std::map<tensor::Var, Dim> sizes_;                // scalars that are sizes over the symbols
  std::map<tensor::Var, tensor::Expr> conditions_;  // scalars of type bool
};

// Symbols with the bounds that they have where these sizes are not negative, by name: n is at most 49 where 49 - n is.
std::map<std::string, Dim> narrowed_symbols(const std::vector<Dim>& natural);

}  // namespace dlcc::lower
