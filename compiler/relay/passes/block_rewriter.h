// Rewrites the operations of blocks by rules. A rule is called with one operation; it may inspect the operations that
// define its operands and emit new ones before it. It returns the atom that replaces the operation's value, or nothing.
#pragma once

#include <functional>
#include <optional>
#include <set>

#include "relay/effects.h"
#include "relay/operator.h"
#include "relay/passes/replace.h"

namespace dlcc::relay {

class BlockRewriter {
 public:
  using Rule = std::function<std::optional<Atom>(BlockRewriter&, const Binding&)>;

  BlockRewriter(Module& module, EffectAnalysis& effects, Rule rule)
      : module_(module), effects_(effects), rule_(std::move(rule)) {}

  // Applies the rule to every operation of the function in order.
  void run(Block& body);

  // ---- inspecting

  // The operation that defines the atom, when it is in the block being rewritten.
  const Operation* definition(const Atom&) const;
  // The call of operator `name` that defines the atom.
  const Call* call_of(const Atom&, const std::string& name) const;
  bool used_once(const Atom&) const;
  // Whether the atom is known at compile time: a constant, or computed from constants alone by operations that rules
  // emitted.
  bool is_constant(const Atom&) const;
  // The value of an atom for which is_constant() holds; empty if its computation fails.
  std::optional<Constant> value(const Atom&);
  TensorType tensor(const Atom& atom) const { return *as<TensorType>(type_of(module_, atom)); }
  Module& module() { return module_; }

  // ---- emitting

  // Applies an operator. The new operation has the source location of the operation that is being rewritten. Types must
  // fit (DLCC_CHECK).
  Atom emit(const std::string& op, std::vector<Atom> args, Attrs attrs = {});

 private:
  void block(Block&);
  void push(Binding);
  void release(const Operation&);

  Module& module_;
  EffectAnalysis& effects_;
  Rule rule_;
  Uses uses_;
  Replacements known_;
  std::set<int> constants_, released_;
  std::map<int, Constant> values_;  // of emitted operations on constants, when a rule has asked for them
  std::vector<Binding>* out_ = nullptr;
  std::map<int, size_t> position_;  // of the current block's variables in *out_
  SourceLocation location_;
};

}  // namespace dlcc::relay
