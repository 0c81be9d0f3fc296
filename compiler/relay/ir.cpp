// Queries on Relay programs and their deep copy.
#include "relay/ir.h"

#include <set>

#include "relay/operator.h"

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
  std::vector<Type> args;
  for (const TypeVariable& v : def->params) args.push_back(variable_type(v));
  for (const ConstructorDef& c : def->constructors)
    if (c.name == name) return function_type(c.fields, data_type(def->name, args), def->params);
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

// ---- effects --------------------------------------------------------------------------------------------------------

namespace {

constexpr Effects anything{true, true, true, true};

struct EffectAnalysis {
  const Module& module;
  std::set<std::string> seen = {};  // functions that are being or were looked into: each is counted once

  Effects of_call(const Call& call) {
    if (const OperatorRef* o = std::get_if<OperatorRef>(&call.callee)) return of_operator(*o->op, call);
    if (std::holds_alternative<ConstructorRef>(call.callee)) return {};
    const GlobalRef* global = std::get_if<GlobalRef>(&call.callee);
    auto it = global ? module.functions.find(global->name) : module.functions.end();
    if (it == module.functions.end()) return anything;
    if (!seen.insert(global->name).second) return {.may_diverge = true};  // perhaps recursion
    return of_block(it->second.body);
  }

  // An operator fails where its definition for these operands requires something of them.
  Effects of_operator(const Operator& op, const Call& call) {
    std::optional<Operands> operands = operands_of(op, call);
    bool defined = operands && std::holds_alternative<Type>(op.type(call.attrs, *operands));
    return defined ? of_definition(op.compute(call.attrs, *operands)) : Effects{.may_fail = true};
  }

  // Empty when they are no tensors.
  std::optional<Operands> operands_of(const Operator& op, const Call& call) const {
    std::vector<Type> types;
    for (const Atom& a : call.args) types.push_back(type_of(module, a));
    const TupleType* fields = op.variadic && types.size() == 1 ? as<TupleType>(types[0]) : nullptr;
    if (fields) types = std::vector<Type>(fields->fields);
    Operands operands;
    for (const Type& type : types) {
      const TensorType* t = as<TensorType>(type);
      if (!t) return std::nullopt;
      operands.push_back(*t);
    }
    return operands;
  }

  static Effects of_definition(const tensor::TensorFunction& f) {
    return {.may_fail = std::ranges::any_of(f.stages, [](const tensor::Stage& s) { return !s.requirements.empty(); })};
  }

  Effects of_tensor_call(const CallTensor& call) {
    auto it = module.tensor_functions.find(call.function);
    return it == module.tensor_functions.end() ? anything : of_definition(it->second);
  }

  Effects of_block(const Block& block) {
    Effects all;
    for (const Binding& b : block.bindings) all = all | of(b.op);
    return all;
  }

  Effects of(const Operation& op) {
    return std::visit(
        overloaded{[&](const Call& o) { return of_call(o); }, [&](const CallTensor& o) { return of_tensor_call(o); },
                   [&](const If& o) { return of_block(*o.then_block) | of_block(*o.else_block); },
                   [&](const Match& o) {
                     Effects all{.may_fail = !o.complete};
                     for (const Clause& c : o.clauses) all = all | of_block(*c.body);
                     return all;
                   },
                   [](const RefCreate&) { return Effects{.reads_refs = true}; },  // two new references are not one
                   [](const RefRead&) { return Effects{.reads_refs = true}; },
                   [](const RefWrite&) { return Effects{.writes_refs = true}; },
                   [](const MatchCast&) { return Effects{.may_fail = true}; }, [](const auto&) { return Effects{}; }},
        op);
  }
};

}  // namespace

Effects effects_of(const Module& module, const Operation& op) { return EffectAnalysis{module}.of(op); }

// ---- deep copy ------------------------------------------------------------------------------------------------------

namespace {

struct Cloner {
  Module& module;
  std::map<int, Atom>& renamed;

  Var copy(const Var& var) {
    Var fresh = module.fresh(var->name, var->type);
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

  std::shared_ptr<Block> share(const Block& block) { return std::make_shared<Block>(copy(block)); }

  Operation copy(const Operation& op) {
    Operation out = op;
    for_each_atom(out, [&](Atom& a) { rename(a); });
    if (If* o = std::get_if<If>(&out)) {
      o->then_block = share(*o->then_block);
      o->else_block = share(*o->else_block);
    } else if (Match* o = std::get_if<Match>(&out)) {
      for (Clause& c : o->clauses) {
        c.pattern = copy(c.pattern);
        c.body = share(*c.body);
      }
    } else if (MakeFunction* o = std::get_if<MakeFunction>(&out)) {
      auto function = std::make_shared<Function>(*o->function);
      for (Var& p : function->params) p = copy(p);
      function->body = copy(function->body);
      o->function = std::move(function);
    }
    return out;
  }

  Block copy(const Block& block) {
    Block out;
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

std::vector<bool> which_are_constant(const std::vector<Atom>& atoms) {
  std::vector<bool> constant;
  for (const Atom& a : atoms) constant.push_back(std::holds_alternative<Constant>(a));
  return constant;
}

}  // namespace dlcc::relay
