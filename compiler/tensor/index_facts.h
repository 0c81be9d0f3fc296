// Proofs that indices are in range where extents are symbolic. Index arithmetic becomes a Dim, in which loop variables
// are symbols, and each loop adds the fact that its variable is less than its extent.
#pragma once

#include <map>
#include <optional>

#include "shape/facts.h"
#include "tensor/ir.h"
#include "tensor/layout.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

// The symbols of a kernel, each once, sorted by name, with the bounds that the shapes of its parameters give.
std::vector<Symbol> symbols_of(const Kernel&);

// The ranges of the variables of symbols, at most most_elements each.
Ranges ranges_of(const std::vector<Symbol>&);

class IndexFacts {
 public:
  explicit IndexFacts(const std::vector<Symbol>&);

  // 0 <= variable < extent, in a loop.
  void enter_loop(const Var&, const Expr& extent);
  void define(const Var&, const Expr& value);
  void assume(const Expr& condition);

  // Whether 0 <= index < extent is proved.
  bool in_range(const Expr& index, const Dim& extent) const;
  // What the index reaches beyond [0, extent), at most; empty if there is no bound.
  std::optional<Halo> beyond(const Expr& index, const Dim& extent) const;

 private:
  std::optional<Dim> value_of(const Expr&) const;

  std::map<Var, Dim> dims_;  // the values of variables
  Facts facts_;
};

// What a load of the stage reads beyond each dimension of its buffer, at most; empty if an index has no bound.
std::vector<Halo> halo_read(const Load&, const Stage&);
// The same for dimension `d` alone.
std::optional<Halo> halo_read(const Load&, size_t d, const Stage&);

}  // namespace dlcc::tensor
