// Proofs that indices are in range where extents are symbolic. Index arithmetic becomes a Dim, in which loop variables
// are symbols, and each loop adds the fact that its variable is less than its extent.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "shape/facts.h"
#include "tensor/ir.h"
#include "tensor/layout.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

// The symbols of a kernel, each once, sorted by name, with their bounds.
std::vector<Symbol> symbols_of(const Kernel&);

// The ranges of the variables of symbols, at most max_elements each.
Ranges ranges_of(const std::vector<Symbol>&);

// The loop variables, lets and conditions around a statement. `symbols` are the symbols of its kernel.
class IndexFacts {
 public:
  explicit IndexFacts(const std::vector<Symbol>&);

  // 0 <= variable < extent, in a loop. If the extent is a product of sizes, none of them is zero.
  void enter_loop(const Var&, const Expr& extent);
  // variable = value, in a let.
  void define(const Var&, const Expr& value);
  // The condition holds, in a branch or behind a requirement. A variable of unknown value is known to be in range after
  // `v >= 0 and v < n`, in this order. Limits of sums such as v + 1, which may wrap, are ignored before that of v.
  void assume(const Expr& condition);

  // The value of integer arithmetic, with a symbol for each loop variable; empty as for dim_of (tensor/dim_of.h).
  std::optional<Dim> value_of(const Expr&) const;
  // The expression of a dim that is made of such values.
  Expr expression_of(const Dim&) const;
  const Facts& facts() const { return facts_; }

  // Whether 0 <= index < extent is proved.
  bool in_range(const Expr& index, const Dim& extent) const;
  // The smallest halo around [0, extent) that is proved to contain the index; empty if none is found.
  std::optional<Halo> beyond(const Expr& index, const Dim& extent) const;

 private:
  // A new symbol in [0, high] for a variable whose value is not known.
  Dim name_unknown(const Var&, int64_t high);

  bool begins_range(const Binary&);    // whether it is v >= 0 for an unknown v, which has a symbol then
  bool has_limits(const Expr&) const;  // whether no variable in it lacks an upper limit

  std::map<Var, Dim> dims_;      // the values of variables
  std::map<Var, Expr> unknown_;  // the variables of unknown value, by those of their symbols
  std::set<Var> without_limit_;  // those of the unknown variables that have no upper limit
  Facts facts_;
  int next_unknown_ = 0;  // the number in the name of the next symbol
};

// The facts that hold at a point of the stage's axes; `symbols` beside those of the axes.
IndexFacts facts_within(const Stage&, std::vector<Symbol> symbols);

// For each dimension of the load's buffer, a halo that contains every index that the stage reads; empty if an index has
// no bound.
std::vector<Halo> halo_read(const Load&, const Stage&);
// The same for dimension `d` alone.
std::optional<Halo> halo_read(const Load&, size_t d, const Stage&);

}  // namespace dlcc::tensor
