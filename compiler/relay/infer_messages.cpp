// The messages of type inference: what was expected and what was found, and the place that says why.
#include <algorithm>

#include "relay/inference.h"

namespace dlcc::relay {

std::string Inference::text(const Type& type) const {
  Type resolved = unifier_.resolve(type);
  return resolved ? relay::str(resolved) : "a type too large to print";
}

std::string Inference::describe(const Atom& atom) const {
  return std::visit(
      overloaded{[](const Var& v) { return v->name.empty() ? "a value" : "%" + v->name; },
                 [](const Constant&) { return std::string("a constant"); },
                 [](const GlobalRef& g) { return "@" + g.name.substr(0, g.name.find('#')); },
                 [](const ConstructorRef& c) { return c.name; }, [](const OperatorRef& o) { return o.op->name; }},
      atom);
}

Type Inference::fail(DiagnosticId id, const SourceLocation& location, std::string message,
                     std::vector<std::string> details, std::string help) {
  if (!uses_.empty()) details.push_back(fmt::format("{}: the function is used here", uses_.back().str()));
  diagnostics_.error(id, location, std::move(message), std::move(details), std::move(help));
  return unifier_.fresh();
}

void Inference::mismatch_of_result(const Function& function, const Type& expected, const Type& found,
                                   const SourceLocation& location) {
  std::vector<std::string> declaration;
  if (function.result_range.line > 0)
    declaration = {fmt::format("{}: the result is declared here: {}", location.within(function.result_range).str(),
                               text(function.result_type))};
  mismatch(location.within(function.body.range), "the function's result", expected, found, {}, std::move(declaration));
}

std::vector<std::string> Inference::definition_of(const Atom& a) const {
  const Var* var = std::get_if<Var>(&a);
  const auto at = var ? definitions_.find((*var)->id) : definitions_.end();
  if (at == definitions_.end() || at->second.line == 0) return {};
  return {fmt::format("{}: {} is defined here: {}", at->second.str(), describe(a), text((*var)->type))};
}

std::vector<std::string> Inference::declaration_of(const Atom& callee) const {
  if (std::holds_alternative<Var>(callee)) return definition_of(callee);
  const GlobalRef* global = std::get_if<GlobalRef>(&callee);
  auto it = global ? module_.functions.find(global->name) : module_.functions.end();
  if (it == module_.functions.end() || it->second.location.line == 0) return {};
  return {fmt::format("{}: {} is declared here: {}", it->second.location.str(), describe(callee),
                      text(relay::type_of(module_, callee)))};
}

SourceLocation Inference::place_of_argument(const Call& call, size_t index, const SourceLocation& location) {
  return index < call.ranges.size() ? location.within(call.ranges[index]) : location;
}

// The type of the callee before it was instantiated; null if it is none that was declared.
Type Inference::declared_type(const Atom& callee) const {
  if (const Var* local = std::get_if<Var>(&callee)) return unifier_.shallow((*local)->type);
  if (const auto* constructor = std::get_if<ConstructorRef>(&callee))
    if (const auto* known = constructors_.find(constructor->name)) return relay::type_of(*known);
  const auto* global = std::get_if<GlobalRef>(&callee);
  const auto signature = global ? signatures_.find(global->name) : signatures_.end();
  return signature == signatures_.end() ? nullptr : signature->second;
}

// Whether a variable in the declared type stands for different types in the expected and in the found one.
bool Inference::differs_at(const TypeVariable& variable, const Type& declared, const Type& expected,
                           const Type& found) const {
  const Type e = unifier_.shallow(expected), f = unifier_.shallow(found);
  if (!e || !f || !declared->has_variables) return false;
  const VariableType* v = as<VariableType>(declared);
  if (v && v->variable == variable) return !same_type(unifier_.resolve(e), unifier_.resolve(f));
  const std::vector<Type> parts = parts_of(declared), of_expected = parts_of(e), of_found = parts_of(f);
  bool differs = false;
  for (size_t k = 0; k < parts.size() && parts.size() == of_expected.size() && parts.size() == of_found.size(); ++k)
    differs |= differs_at(variable, parts[k], of_expected[k], of_found[k]);
  return differs;
}

// A note for each type variable of the callee at which the argument's type differs from the expected one: the place of
// the first argument, of those whose types were known before, that decided what the variable is.
std::vector<std::string> Inference::reasons_for_parameter(size_t index, const Type& expected, const Type& found,
                                                          const std::vector<size_t>& known, const Call& call,
                                                          const SourceLocation& location) {
  const Type declared = declared_type(call.callee);
  const FunctionType* f = as<FunctionType>(declared);
  std::vector<std::string> reasons;
  for (const TypeVariable& variable : f ? f->type_params : std::vector<TypeVariable>()) {
    if (!differs_at(variable, f->params[index], expected, found)) continue;
    const auto decided = std::ranges::find_if(known, [&](size_t k) {
      bool has = false;
      for_each_free_variable(f->params[k], [&](const TypeVariable& v) { has |= v == variable; });
      return has;
    });
    if (decided != known.end())
      reasons.push_back(fmt::format("{}: argument {} decides what {} is: {}",
                                    place_of_argument(call, *decided, location).str(), *decided + 1, variable.name,
                                    text(type_of(call.args[*decided], location))));
  }
  return reasons;
}

Type Inference::mismatch(const SourceLocation& location, const std::string& what, const Type& expected,
                         const Type& found, std::string help, std::vector<std::string> details) {
  const Type shallow_expected = unifier_.shallow(expected), shallow_found = unifier_.shallow(found);
  const TensorType *e = as<TensorType>(shallow_expected), *f = as<TensorType>(shallow_found);
  DiagnosticId id = e && f && same_element_type(*e, *f) ? DiagnosticId::shape_mismatch : DiagnosticId::type_mismatch;
  const FunctionType* generic = as<FunctionType>(shallow_expected);
  if (help.empty() && generic && has_kinds(generic->type_params))
    help = "a function that is generic in shapes or element types has a copy for each use: call it, it is no value";
  auto is_part_of = [&](const Type& hole, const Type& type) {
    const HoleType* h = as<HoleType>(hole);
    const Type whole = unifier_.resolve(type);
    return h && whole && !as<HoleType>(whole) &&
           any_leaf(whole, &TypeNode::has_holes, [&](const Type& leaf) { return as<HoleType>(leaf)->id == h->id; });
  };
  if (help.empty() && (is_part_of(shallow_found, expected) || is_part_of(shallow_expected, found)))
    help = "the type would be a part of itself";
  if (const std::string name = text(expected); name == text(found))
    details.push_back(fmt::format(
        "both types are written {}, but the names in them differ in meaning: each function has its own", name));
  return fail(id, location, fmt::format("{}: expected {}, found {}", what, text(expected), text(found)),
              std::move(details), std::move(help));
}

}  // namespace dlcc::relay
