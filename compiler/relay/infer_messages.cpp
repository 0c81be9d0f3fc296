// The messages of type inference: what was expected and what was found, and the place that says why.
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

Type Inference::mismatch(const SourceLocation& location, const std::string& what, const Type& expected,
                         const Type& found, std::string help, std::vector<std::string> details) {
  const Type shallow_expected = unifier_.shallow(expected), shallow_found = unifier_.shallow(found);
  const TensorType *e = as<TensorType>(shallow_expected), *f = as<TensorType>(shallow_found);
  DiagnosticId id = e && f && same_element_type(*e, *f) ? DiagnosticId::shape_mismatch : DiagnosticId::type_mismatch;
  const FunctionType* generic = as<FunctionType>(shallow_expected);
  if (help.empty() && generic && has_kinds(generic->type_params))
    help = "a function that is generic in shapes or element types has a copy for each use: call it, it is no value";
  if (const std::string name = text(expected); name == text(found))
    details.push_back(fmt::format(
        "both types are written {}, but the names in them differ in meaning: each function has its own", name));
  return fail(id, location, fmt::format("{}: expected {}, found {}", what, text(expected), text(found)),
              std::move(details), std::move(help));
}

}  // namespace dlcc::relay
