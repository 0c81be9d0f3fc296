#include "relay/effects.h"

#include <algorithm>
#include <set>

#include "relay/call_graph.h"
#include "relay/operator.h"
#include "relay/passes/replace.h"
#include "relay/tail_recursion.h"
#include "tensor/visit.h"

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

const Operation* definition_in(const Block& block, const Atom& atom) {
  const Var* var = std::get_if<Var>(&atom);
  auto it = std::ranges::find_if(block.bindings, [&](const Binding& b) { return var && b.var == *var; });
  return it == block.bindings.end() ? nullptr : &it->op;
}

bool same_variable(const Atom& atom, const Var& var) {
  const Var* v = std::get_if<Var>(&atom);
  return v && *v == var;
}

// Whether a value is a constant or is defined in a block that encloses the function.
bool is_outside(const Function& f, const Atom& atom) {
  bool inside = definition_in(f.body, atom) ||
                std::ranges::any_of(f.params, [&](const Var& p) { return same_variable(atom, p); });
  return !inside && (std::holds_alternative<Constant>(atom) || std::holds_alternative<Var>(atom));
}

// The call of an operator that is defined as `a op b` of its two operands; null for other operations.
const Call* binary_call(const Module& module, const Operation* operation, tensor::BinaryOp op) {
  const Call* call = operation ? std::get_if<Call>(operation) : nullptr;
  const OperatorRef* callee = call ? std::get_if<OperatorRef>(&call->callee) : nullptr;
  if (!callee || callee->op->variadic || !callee->op->has_definition() || call->args.size() != 2) return nullptr;
  std::optional<Operands> operands = operands_of(module, *callee->op, *call);
  if (!operands || !std::holds_alternative<Type>(callee->op->type(call->attrs, *operands))) return nullptr;
  tensor::TensorFunction f = callee->op->compute(call->attrs, *operands);
  if (f.stages.size() != 1 || f.stages[0].body) return nullptr;
  const tensor::Binary* binary = tensor::as<tensor::Binary>(f.stages[0].values[0]);
  auto is_operand = [&](const tensor::Expr& e, size_t k) {
    const tensor::Load* load = tensor::as<tensor::Load>(e);
    return load && load->buffer == f.params[k];
  };
  bool plain = binary && binary->op == op && is_operand(binary->a, 0) && is_operand(binary->b, 1);
  return plain ? call : nullptr;
}

Effects of_definition(const tensor::TensorFunction& f) {
  return {.may_fail = std::ranges::any_of(
              f.stages, [](const tensor::Stage& s) { return !s.requirements.empty() || tensor::can_fail(s.body); })};
}

// Whether constant operands fulfil the requirements of the call's definition.
bool constants_suffice(const Operator& op, const Call& call, const Operands& operands) {
  std::vector<KnownValue> values;
  for (const Atom& a : call.args) {
    const Constant* c = std::get_if<Constant>(&a);
    values.push_back(c ? tensor::value_of(*c) : nullptr);
  }
  const bool any = std::ranges::any_of(values, [](const KnownValue& v) { return v != nullptr; });
  return any && !op.variadic && tensor::requirements_hold(op.compute(call.attrs, operands), values);
}

}  // namespace

// Callees are analysed first. A call of a function whose effects are not known yet is therefore part of a recursion;
// the effects of recursive functions are joined until a fixed point is reached.
EffectAnalysis::EffectAnalysis(const Module& module) : module_(module) {
  std::set<std::string> called;
  for (const auto& [name, f] : module.functions)
    for (std::string& callee : globals_in(f.body)) called.insert(std::move(callee));
  std::vector<std::string> order = callees_first(module);
  std::erase_if(order, [&](const std::string& name) { return !called.contains(name); });
  for (bool grown = true; grown;) {
    grown = false;
    for (const std::string& name : order) {
      find_local_functions(module.functions.at(name).body);
      Effects found = of(module.functions.at(name).body);
      auto [known, added] = functions_.emplace(name, found);
      Effects joined = known->second | found;
      grown |= added || !(joined == known->second);
      known->second = joined;
    }
  }
  for (const auto& [name, f] : module.functions)
    if (!functions_.contains(name)) find_local_functions(f.body);
}

// ---- local functions

void EffectAnalysis::find_local_functions(const Block& block) {
  for (const Binding& b : block.bindings) {
    for_each_block(b.op, [&](const Block& inner) { find_local_functions(inner); });
    const MakeFunction* made = std::get_if<MakeFunction>(&b.op);
    if (!made) continue;
    const Function& f = *made->function;
    Effects found = anything;
    if (Uses(f.body)[b.var] == 0 || terminates(f, b.var)) {
      local_functions_[b.var->id] = {};  // the recursive call adds no effect
      found = of(f.body);
    }
    local_functions_[b.var->id] = found;
  }
}

// Whether the function is a loop that terminates: a parameter grows by 1 in each iteration, and the condition requires
// it to be less than a value that does not change in the loop.
bool EffectAnalysis::terminates(const Function& loop, const Var& self) const {
  const auto recursion = tail_recursion(loop, self->id);
  if (!recursion || !recursion->continues_if) return false;
  auto grows = [&](size_t k) {
    const Call* step =
        binary_call(module_, definition_in(*recursion->repeat, recursion->next->args[k]), tensor::BinaryOp::add);
    const Constant* by = step ? std::get_if<Constant>(&step->args[1]) : nullptr;
    return by && is_integer(by->dtype()) && by->integer_at(0) == 1 && same_variable(step->args[0], loop.params[k]);
  };
  std::vector<Atom> conditions = {recursion->branch->condition};
  std::set<const Operation*> seen;
  while (!conditions.empty()) {
    const Operation* test = definition_in(loop.body, conditions.back());
    conditions.pop_back();
    if (!test || !seen.insert(test).second) continue;
    if (const Call* both = binary_call(module_, test, tensor::BinaryOp::logical_and))
      conditions.insert(conditions.end(), both->args.begin(), both->args.end());
    const Call* less = binary_call(module_, test, tensor::BinaryOp::lt);
    for (size_t k = 0; less && k < loop.params.size(); ++k)
      if (same_variable(less->args[0], loop.params[k]) && is_outside(loop, less->args[1]) && grows(k)) return true;
  }
  return false;
}

// ---- operations

Effects EffectAnalysis::of_call(const Call& call) {
  if (const OperatorRef* o = std::get_if<OperatorRef>(&call.callee)) return of_operator(*o->op, call);
  if (std::holds_alternative<ConstructorRef>(call.callee)) return {};
  if (const Var* local = std::get_if<Var>(&call.callee)) {
    auto it = local_functions_.find((*local)->id);
    return it == local_functions_.end() ? anything : it->second;
  }
  const GlobalRef* global = std::get_if<GlobalRef>(&call.callee);
  if (!global || !module_.functions.contains(global->name)) return anything;
  auto it = functions_.find(global->name);
  return it == functions_.end() ? Effects{.may_diverge = true} : it->second;
}

// An operator may fail if its definition for these operands has requirements.
Effects EffectAnalysis::of_operator(const Operator& op, const Call& call) {
  std::optional<Operands> operands = operands_of(module_, op, call);
  if (!operands || !op.has_definition()) return {.may_fail = true};
  std::string key = op.name;
  for (const TensorType& t : *operands) key += fmt::format(" {}{}", name(t.dtype), str(t.shape));
  for (const auto& [name, value] : call.attrs) key += fmt::format(", {}={}", name, str(value));
  auto [known, added] = operators_.emplace(std::move(key), Effects{.may_fail = true});
  if (added && std::holds_alternative<Type>(op.type(call.attrs, *operands)))
    known->second = of_definition(op.compute(call.attrs, *operands));
  if (known->second.may_fail && constants_suffice(op, call, *operands)) return {};
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

// An `if` whose branches differ in shape defines sizes, which other operations may need although its value is unused.
Effects EffectAnalysis::of_branches(const If& branch) {
  Effects either = of(*branch.then_block) | of(*branch.else_block);
  either.may_fail |= defines_sizes(module_, branch);
  return either;
}

Effects EffectAnalysis::of(const Operation& op) {
  return std::visit(
      overloaded{[&](const Call& o) { return of_call(o); }, [&](const CallTensor& o) { return of_tensor_call(o); },
                 [&](const If& o) { return of_branches(o); },
                 [&](const Match& o) {
                   Effects all{.may_fail = !o.complete};
                   for (const Clause& c : o.clauses) all = all | of(*c.body);
                   return all;
                 },
                 [](const RefCreate&) { return Effects{.reads_refs = true}; },  // each reference is a new one
                 [](const RefRead&) { return Effects{.reads_refs = true}; },
                 [](const RefWrite&) { return Effects{.writes_refs = true}; },
                 [](const MatchCast&) { return Effects{.may_fail = true}; },
                 [](const DefineSizes&) { return Effects{.may_fail = true}; },
                 [](const RequireSizes&) { return Effects{.may_fail = true}; }, [](const auto&) { return Effects{}; }},
      op);
}

}  // namespace dlcc::relay
