// Lowers calls of global functions: large shared functions become functions of the program, the others are inlined.
#include <algorithm>

#include "lower/largest_size.h"
#include "lower/lowerer.h"
#include "relay/type_arguments.h"

namespace dlcc::lower {

using relay::Binding;

namespace {

constexpr size_t most_nested_calls = 2000;          // bounds the stack of the compiler
constexpr int64_t most_inlined = int64_t{1} << 18;  // operations of inlined functions, once for each call

}  // namespace

Lowerer::Operand Lowerer::call_global(const Binding& b, const relay::Call& x, const std::string& callee,
                                      const Environment& env, Region& region) {
  const relay::Function& f = module_.functions.at(callee);
  if (!active_.insert(callee).second)
    unsupported(b.location, "recursion of several functions",
                "make them one function, in which each recursive call is the last operation of its block");
  if (active_.size() > most_nested_calls)
    too_large(b.location, fmt::format("functions call each other more than {} levels deep", most_nested_calls),
              "call the functions in a list, not each from the one before");
  std::vector<Operand> args;
  for (size_t k = 0; k < x.args.size(); ++k) {
    args.push_back(operand(x.args[k], env, b.location));
    if (const auto* c = std::get_if<Constant>(&x.args[k])) args.back().constant = c;
  }
  std::map<std::string, Dim> sizes = relay::sizes_at_call(relay::dim_pairs(module_, f, x.args));
  for (auto& [symbol, size] : sizes) size = size.substitute(state_.sizes);
  Operand result;
  if (shared_functions_.contains(specialization_of(callee, x.args)) &&
      std::ranges::all_of(args, [&](const Operand& o) { return can_be_passed(o); })) {
    result = call_function(b, callee, args, std::move(sizes), region);
  } else {
    count_inlined(f, b.location);
    Environment inner;
    for (size_t k = 0; k < args.size(); ++k) inner[f.params[k]->id] = args[k];
    std::swap(sizes, state_.sizes);
    result = lower_block(f.body, inner, region, f.location);
    std::swap(sizes, state_.sizes);
  }
  active_.erase(callee);
  return result;
}

void Lowerer::too_large(const SourceLocation& location, const std::string& what, const std::string& help) {
  diagnostics_.error(DiagnosticId::too_large, location, what, {}, help);
  throw Unsupported();
}

void Lowerer::count_inlined(const relay::Function& f, const SourceLocation& location) {
  inlined_ += static_cast<int64_t>(f.body.bindings.size());
  if (inlined_ > most_inlined)
    too_large(location, fmt::format("calls of functions expand to more than {} operations", most_inlined),
              "call functions of the module with variables, so that a call need not be replaced by the function's "
              "operations");
}

bool Lowerer::can_be_passed(const Operand& o) {
  if (o.is_tuple) return std::ranges::all_of(o.fields, [&](const Operand& f) { return can_be_passed(f); });
  if (o.closure || o.scalar) return false;
  return std::ranges::all_of(value_of(o.value).shape, [&](const Dim& d) { return largest_size(program_, d) == d; });
}

// The instance depends on the types of the parameters, not on the storage of the operands.
Lowerer::Operand Lowerer::call_function(const Binding& b, const std::string& callee, const std::vector<Operand>& args,
                                        std::map<std::string, Dim> sizes, Region& region) {
  std::vector<Operand> passed;
  for (const Operand& o : args) flatten(o, passed, b.location);
  Call step{.function = 0, .node = b.location.node.empty() ? b.var->name : b.location.node};
  std::string key = callee;
  size_t next = 0;
  for (const relay::Var& p : module_.functions.at(callee).params)
    relay::for_each_field(p->type, [&](const relay::Type& field) {
      const ValueId v = passed[next++].value;
      if (value_of(v).storage == Storage::constant) {
        key += fmt::format(" constant {}", value_of(v).index);
        return;
      }
      const auto* type = relay::as<relay::TensorType>(field);
      key += fmt::format(" {}", name(type->dtype));
      for (const Dim& d : type->shape) key += fmt::format(" [{}]", d.substitute(sizes).str());
      step.operands.push_back(v);
    });
  auto known = instances_.find(key);
  if (known == instances_.end()) known = instances_.emplace(key, lower_function(callee, args, std::move(sizes))).first;
  const Instance& instance = known->second;
  step.function = instance.function;
  const std::vector<Dim> required = program_.functions[static_cast<size_t>(instance.function)].checked_sizes;
  for (const Dim& d : required) require_size(d, region);
  std::vector<Operand> results;
  for (const Value& v : instance.results)
    results.push_back({.value = new_value(v.name, {v.shape, v.type}, Storage::temporary)});
  for (const Operand& o : results) step.results.push_back(o.value);
  region.steps.push_back(std::move(step));
  state_.fresh.insert(b.var->id);
  next = 0;
  return rebuild(instance.result, results, next);
}

Lowerer::Instance Lowerer::lower_function(const std::string& callee, const std::vector<Operand>& args,
                                          std::map<std::string, Dim> sizes) {
  const relay::Function& f = module_.functions.at(callee);
  Function caller = std::exchange(static_cast<Function&>(program_), Function{.name = callee});
  State outer = std::exchange(state_, State{.sizes = std::move(sizes)});
  Environment env;
  for (size_t k = 0; k < args.size(); ++k)
    env[f.params[k]->id] = formal(f.params[k]->type, f.params[k]->name, args[k], caller);
  Instance instance{.function = 0, .result = lower_block(f.body, env, program_.body, f.location), .results = {}};
  std::vector<Operand> results;
  flatten(instance.result, results, f.location);
  for (size_t k = 0; k < results.size(); ++k) {
    const ValueId v = value(results[k], program_.body, f.location);
    instance.results.push_back(value_of(v));
    make_output(v, static_cast<int>(k));
  }
  in_place_concat(program_, state_.concat_calls);
  instance.function = static_cast<int>(program_.functions.size());
  state_ = std::move(outer);
  Function own = std::exchange(static_cast<Function&>(program_), std::move(caller));
  program_.functions.push_back(std::move(own));
  return instance;
}

Lowerer::Operand Lowerer::formal(const relay::Type& type, const std::string& name, const Operand& actual,
                                 const Function& caller) {
  if (actual.is_tuple) {
    Operand o{.is_tuple = true};
    const auto& fields = relay::as<relay::TupleType>(type)->fields;
    for (size_t k = 0; k < fields.size(); ++k) o.fields.push_back(formal(fields[k], name, actual.fields[k], caller));
    return o;
  }
  const Value& given = caller.values[static_cast<size_t>(actual.value)];
  if (given.storage == Storage::constant) return {.value = constant_value(given.index), .constant = actual.constant};
  const auto* tensor = relay::as<relay::TensorType>(type);
  const ValueId v = new_value(name, {in_program(tensor->shape), tensor->dtype}, Storage::input);
  value_of(v).index = static_cast<int>(program_.inputs.size());
  program_.inputs.push_back(v);
  return {.value = v};
}

}  // namespace dlcc::lower
