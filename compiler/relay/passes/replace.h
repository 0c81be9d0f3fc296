// Helpers of graph passes: replacing variables by atoms in a forward walk, and counting uses.
#pragma once

#include <map>

#include "relay/ir.h"

namespace dlcc::relay {

// Atoms that replace variables. A pass walks a block in order: it applies the replacements to an operation before it
// adds one for the operation's own variable, so that one look-up suffices.
class Replacements {
 public:
  void add(const Var& var, Atom atom) { atoms_.insert_or_assign(var->id, std::move(atom)); }
  bool any() const { return !atoms_.empty(); }

  void apply(Atom& atom) const {
    const Var* var = std::get_if<Var>(&atom);
    if (!var) return;
    auto it = atoms_.find((*var)->id);
    if (it == atoms_.end()) return;
    Atom replacement = it->second;  // `atom` may be the last to hold the variable
    atom = std::move(replacement);
  }
  // The operation's own operands; nested blocks are the caller's to walk.
  void apply(Operation& op) const {
    for_each_atom(op, [&](Atom& a) { apply(a); });
  }
  // All operands in the block, those in nested blocks included.
  void apply(Block& block) const {
    if (!any()) return;
    for (Binding& b : block.bindings) {
      apply(b.op);
      for_each_block(b.op, [&](Block& inner) { apply(inner); });
    }
    apply(block.result);
  }

 private:
  std::map<int, Atom> atoms_;
};

// The number of uses of each variable, by id.
class Uses {
 public:
  Uses() = default;
  explicit Uses(const Block& block) { add(block, 1); }

  int operator[](const Var& var) const { return count(var->id); }
  int count(int id) const {
    auto it = count_.find(id);
    return it == count_.end() ? 0 : it->second;
  }
  void add(const Atom& atom, int times) {
    if (const Var* var = std::get_if<Var>(&atom)) count_[(*var)->id] += times;
  }
  // All uses in the operation, nested blocks included.
  void add(const Operation& op, int times) {
    for_each_atom(op, [&](const Atom& a) { add(a, times); });
    for_each_block(op, [&](const Block& b) { add(b, times); });
  }
  void add(const Block& block, int times) {
    for (const Binding& b : block.bindings) add(b.op, times);
    add(block.result, times);
  }

 private:
  std::map<int, int> count_;
};

}  // namespace dlcc::relay
