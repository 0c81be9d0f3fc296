// Whether a module is in the first-order language that monomorphize, compile-matches and convert-closures produce.
#pragma once

#include <algorithm>
#include <string>

#include "relay/ir.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

class FirstOrderCheck {
 public:
  explicit FirstOrderCheck(Module& module) {
    for (const auto& [name, def] : module.data_types) {
      if (!def.params.empty()) violation_ = "type " + name + " has parameters";
      for (const ConstructorDef& c : def.constructors)
        for (const Type& field : c.fields) check(field);
    }
    for (auto& [name, f] : module.functions) {
      if (!f.type_params.empty()) violation_ = "@" + name + " is generic";
      for_each_type(f, [&](Type& type) { check(type); });
      check(f.body);
    }
  }

  const std::string& violation() const { return violation_; }

 private:
  static bool has_function(const Type& type) {
    auto any = [](const std::vector<Type>& list) { return std::ranges::any_of(list, has_function); };
    if (const TupleType* t = as<TupleType>(type)) return any(t->fields);
    if (const RefType* t = as<RefType>(type)) return has_function(t->value);
    if (const DataType* t = as<DataType>(type)) return any(t->args);
    return as<FunctionType>(type) != nullptr;
  }

  void check(const Type& type) {
    if (has_type_variables(type) || has_function(type)) violation_ = "a value has type " + str(type);
  }

  static bool is_flat(const Pattern& p) {
    const auto* c = std::get_if<Pattern::Constructor>(&p.v);
    if (!c) return std::holds_alternative<Pattern::Wildcard>(p.v);
    return std::ranges::all_of(c->fields, [](const Pattern& field) {
      return std::holds_alternative<Pattern::Wildcard>(field.v) || std::holds_alternative<Pattern::Bind>(field.v);
    });
  }

  void check(const Block& block) {
    for (const Binding& b : block.bindings) {
      if (std::holds_alternative<MakeFunction>(b.op)) violation_ = "%" + b.var->name + " is a local function";
      if (const Match* match = std::get_if<Match>(&b.op))
        for (const Clause& c : match->clauses)
          if (!is_flat(c.pattern)) violation_ = "a pattern is nested";
      bool callee = std::holds_alternative<Call>(b.op);
      for_each_atom(b.op, [&](const Atom& a) {
        const bool is_function = std::holds_alternative<GlobalRef>(a) || std::holds_alternative<ConstructorRef>(a);
        if (is_function && !callee) violation_ = "a function is a value";
        callee = false;
      });
      for_each_block(b.op, [&](const Block& inner) { check(inner); });
    }
  }

  std::string violation_;
};

// A closure, type variable or nested pattern that the module has; empty when it has none.
inline std::string first_order_violation(Module& module) { return FirstOrderCheck(module).violation(); }

}  // namespace dlcc::relay
