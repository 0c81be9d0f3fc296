#include "relay/effects.h"

#include <algorithm>
#include <set>

#include "relay/call_graph.h"
#include "relay/operator.h"

namespace dlcc::relay {

namespace {

constexpr Effects anything{true, true, true, true};

// The types of a call's tensors, a variadic operator's taken out of their tuple; empty when some operand is no tensor.
std::optional<Operands> operands_of(const Module& module, const Operator& op, const Call& call) {
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

Effects of_definition(const tensor::TensorFunction& f) {
  return {.may_fail = std::ranges::any_of(f.stages, [](const tensor::Stage& s) { return !s.requirements.empty(); })};
}

}  // namespace

// A call of a function whose effects are not known yet, callees being first, is part of a recursion. Effects are joined
// along recursions until none grows.
EffectAnalysis::EffectAnalysis(const Module& module) : module_(module) {
  std::set<std::string> called;
  for (const auto& [name, f] : module.functions)
    for (std::string& callee : globals_in(f.body)) called.insert(std::move(callee));
  std::vector<std::string> order = callees_first(module);
  std::erase_if(order, [&](const std::string& name) { return !called.contains(name); });
  for (bool grown = true; grown;) {
    grown = false;
    for (const std::string& name : order) {
      Effects found = of(module.functions.at(name).body);
      auto [known, added] = functions_.emplace(name, found);
      Effects joined = known->second | found;
      grown |= added || !(joined == known->second);
      known->second = joined;
    }
  }
}

Effects EffectAnalysis::of_call(const Call& call) {
  if (const OperatorRef* o = std::get_if<OperatorRef>(&call.callee)) return of_operator(*o->op, call);
  if (std::holds_alternative<ConstructorRef>(call.callee)) return {};
  const GlobalRef* global = std::get_if<GlobalRef>(&call.callee);
  if (!global || !module_.functions.contains(global->name)) return anything;
  auto it = functions_.find(global->name);
  return it == functions_.end() ? Effects{.may_diverge = true} : it->second;
}

// An operator fails where its definition for these operands requires something of them.
Effects EffectAnalysis::of_operator(const Operator& op, const Call& call) {
  std::optional<Operands> operands = operands_of(module_, op, call);
  if (!operands) return {.may_fail = true};
  std::string key = op.name;
  for (const TensorType& t : *operands) key += fmt::format(" {}{}", name(t.dtype), str(t.shape));
  for (const auto& [name, value] : call.attrs) key += fmt::format(", {}={}", name, str(value));
  auto [known, added] = operators_.emplace(std::move(key), Effects{.may_fail = true});
  if (added && std::holds_alternative<Type>(op.type(call.attrs, *operands)))
    known->second = of_definition(op.compute(call.attrs, *operands));
  return known->second;
}

Effects EffectAnalysis::of_tensor_call(const CallTensor& call) const {
  auto it = module_.tensor_functions.find(call.function);
  return it == module_.tensor_functions.end() ? anything : of_definition(it->second);
}

Effects EffectAnalysis::of(const Block& block) {
  Effects all;
  for (const Binding& b : block.bindings) all = all | of(b.op);
  return all;
}

Effects EffectAnalysis::of(const Operation& op) {
  return std::visit(
      overloaded{[&](const Call& o) { return of_call(o); }, [&](const CallTensor& o) { return of_tensor_call(o); },
                 [&](const If& o) { return of(*o.then_block) | of(*o.else_block); },
                 [&](const Match& o) {
                   Effects all{.may_fail = !o.complete};
                   for (const Clause& c : o.clauses) all = all | of(*c.body);
                   return all;
                 },
                 [](const RefCreate&) { return Effects{.reads_refs = true}; },  // two new references are not one
                 [](const RefRead&) { return Effects{.reads_refs = true}; },
                 [](const RefWrite&) { return Effects{.writes_refs = true}; },
                 [](const MatchCast&) { return Effects{.may_fail = true}; }, [](const auto&) { return Effects{}; }},
      op);
}

}  // namespace dlcc::relay
