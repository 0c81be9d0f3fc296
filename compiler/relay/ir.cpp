// Queries on Relay programs and their deep copy.
#include "relay/ir.h"

#include <algorithm>

#include "relay/constructors.h"

namespace dlcc::relay {

const DataTypeDef* Module::data_type_of_constructor(const std::string& constructor) const {
  for (const auto& [name, def] : data_types)
    for (const ConstructorDef& c : def.constructors)
      if (c.name == constructor) return &def;
  return nullptr;
}

// ---- types ----------------------------------------------------------------------------------------------------------

static Type type_of_constructor(const Module& module, const std::string& name) {
  const DataTypeDef* def = module.data_type_of_constructor(name);
  DLCC_CHECK(def, "there is no constructor {}", name);
  for (const ConstructorDef& c : def->constructors)
    if (c.name == name) return type_of({def, &c});
  DLCC_UNREACHABLE("constructor {} is not in its data type", name);
}

Type type_of(const Module& module, const Atom& atom) {
  return std::visit(overloaded{[](const Var& v) { return v->type; },
                               [](const Constant& c) { return tensor_type(c.shape(), c.dtype()); },
                               [&](const GlobalRef& g) {
                                 auto it = module.functions.find(g.name);
                                 DLCC_CHECK(it != module.functions.end(), "there is no function @{}", g.name);
                                 std::vector<Type> params;
                                 for (const Var& p : it->second.params) params.push_back(p->type);
                                 return function_type(std::move(params), it->second.result_type,
                                                      it->second.type_params);
                               },
                               [&](const ConstructorRef& c) { return type_of_constructor(module, c.name); },
                               [](const OperatorRef&) { return Type(); }},
                    atom);
}

// ---- queries --------------------------------------------------------------------------------------------------------

int64_t count_operations(const Block& block) {
  auto count = static_cast<int64_t>(block.bindings.size());
  for (const Binding& b : block.bindings)
    for_each_block(b.op, [&](const Block& inner) { count += count_operations(inner); });
  return count;
}

// ---- deep copy ------------------------------------------------------------------------------------------------------

namespace {

struct Cloner {
  Module& module;
  std::map<int, Atom>& renamed;

  Var copy(const Var& var) {
    Var fresh = module.fresh(var->name, var->type);
    fresh->attrs = var->attrs;
    renamed[var->id] = fresh;
    return fresh;
  }

  void rename(Atom& atom) {
    const Var* var = std::get_if<Var>(&atom);
    if (!var) return;
    if (auto it = renamed.find((*var)->id); it != renamed.end()) atom = it->second;
  }

  Pattern copy(const Pattern& pattern) {
    auto fields = [&](const std::vector<Pattern>& list) {
      std::vector<Pattern> copies;
      for (const Pattern& p : list) copies.push_back(copy(p));
      return copies;
    };
    return std::visit(overloaded{[](const Pattern::Wildcard& p) { return Pattern{p}; },
                                 [&](const Pattern::Bind& p) { return Pattern{Pattern::Bind{copy(p.var)}}; },
                                 [&](const Pattern::Constructor& p) {
                                   return Pattern{Pattern::Constructor{p.name, fields(p.fields)}};
                                 },
                                 [&](const Pattern::Tuple& p) { return Pattern{Pattern::Tuple{fields(p.fields)}}; }},
                      pattern.v);
  }

  // Nested blocks are copied once: a copy of the operation would copy them, too.
  Operation copy(const Operation& op) {
    if (const If* o = std::get_if<If>(&op)) {
      If out{o->condition, copy(*o->then_block), copy(*o->else_block)};
      rename(out.condition);
      return out;
    }
    if (const Match* o = std::get_if<Match>(&op)) {
      Match out{o->value, {}, o->complete};
      rename(out.value);
      for (const Clause& c : o->clauses) {
        Pattern pattern = copy(c.pattern);
        out.clauses.push_back({std::move(pattern), copy(*c.body)});
      }
      return out;
    }
    if (const MakeFunction* o = std::get_if<MakeFunction>(&op)) {
      const Function& f = *o->function;
      Function out{f.type_params, {}, f.result_type, {}, f.attrs, f.location, f.result_range};
      for (const Var& p : f.params) out.params.push_back(copy(p));
      out.body = copy(f.body);
      return MakeFunction{std::move(out)};
    }
    Operation out = op;
    for_each_atom(out, [&](Atom& a) { rename(a); });
    return out;
  }

  Block copy(const Block& block) {
    Block out;
    out.range = block.range;
    out.bindings.reserve(block.bindings.size());
    for (const Binding& b : block.bindings) {
      Var var = copy(b.var);  // before the operation: a closure may name itself
      out.bindings.push_back({std::move(var), copy(b.op), b.location});
    }
    out.result = block.result;
    rename(out.result);
    return out;
  }
};

}  // namespace

Block clone(Module& module, const Block& block, std::map<int, Atom>& renamed) {
  return Cloner{module, renamed}.copy(block);
}

bool defines_sizes(const Module& module, const If& branch) {
  return !same_type(type_of(module, branch.then_block->result), type_of(module, branch.else_block->result));
}

static bool has_definition_of_sizes(const Block& block) {
  return std::ranges::any_of(block.bindings, [](const Binding& b) {
    bool has = std::holds_alternative<DefineSizes>(b.op);
    for_each_block(b.op, [&](const Block& inner) { has = has || has_definition_of_sizes(inner); });
    return has;
  });
}

bool defines_sizes(const Module& module) {
  return std::ranges::any_of(module.functions, [](const auto& f) { return has_definition_of_sizes(f.second.body); });
}

std::vector<bool> which_are_constant(const std::vector<Atom>& atoms) {
  std::vector<bool> constant;
  for (const Atom& a : atoms) constant.push_back(std::holds_alternative<Constant>(a));
  return constant;
}

}  // namespace dlcc::relay
