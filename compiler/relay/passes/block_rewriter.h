// Rewrites the operations of blocks by rules. A rule sees one operation, may look at the operations that made its
// operands, and may write new ones before it; it answers with the atom that the operation's value is, or with nothing.
#pragma once

#include <functional>
#include <optional>
#include <set>

#include "relay/operator.h"
#include "relay/passes/replace.h"

namespace dlcc::relay {

class BlockRewriter {
 public:
  using Rule = std::function<std::optional<Atom>(BlockRewriter&, const Binding&)>;

  BlockRewriter(Module& module, Rule rule) : module_(module), rule_(std::move(rule)) {}

  // Applies the rule to every operation of the function in order.
  void run(Block& body);

  // ---- looking

  // The operation that gives the atom its value, when it stands in the block being rewritten.
  const Operation* definition(const Atom&) const;
  // The call of operator `name` that gives the atom its value.
  const Call* call_of(const Atom&, const std::string& name) const;
  bool used_once(const Atom&) const;
  // Known at compile time: a constant, or computed from constants alone by operations that the rules wrote.
  bool is_constant(const Atom&) const;
  TensorType tensor(const Atom& atom) const { return *as<TensorType>(type_of(module_, atom)); }
  Module& module() { return module_; }

  // ---- writing

  // Applies an operator; the operation's place is that of the one being rewritten. Types must fit (DLCC_CHECK).
  Atom emit(const std::string& op, std::vector<Atom> args, Attrs attrs = {});

 private:
  void block(Block&);
  void push(Binding);
  void release(const Operation&);

  Module& module_;
  Rule rule_;
  Uses uses_;
  Replacements known_;
  std::set<int> constants_, released_;
  std::vector<Binding>* out_ = nullptr;
  std::map<int, size_t> position_;  // of the current block's variables in *out_
  SourceLocation location_;
};

}  // namespace dlcc::relay
