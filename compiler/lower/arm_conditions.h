// The sizes that the condition of a branch keeps from being negative in its arms: n < 50 keeps 49 - n so in the first
// arm, and n - 50 in the second.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

class ArmConditions {
 public:
  // `symbols`: the sizes that are known before the run.
  explicit ArmConditions(std::vector<Symbol> symbols) : symbols_(std::move(symbols)) {}

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

// Narrows the bounds of the symbol of a size such as 49 - n to the values at which the size is not negative.
// `symbols`: those with narrowed bounds, by name.
void narrow(const Dim& natural, std::map<std::string, Symbol>& symbols);

}  // namespace dlcc::lower
