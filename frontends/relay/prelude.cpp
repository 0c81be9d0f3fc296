// The prelude: types and functions in Relay text (prelude/*.rly) that a program may use without defining them. The used
// ones are added to its module. Definitions of the program take precedence.
#include <algorithm>

#include "frontends/relay/parser.h"
#include "relay/call_graph.h"
#include "relay/prelude_file.h"
#include "relay/type_arguments.h"

namespace dlcc::frontends::relay_text {

using namespace relay;

namespace {

#include "relay_prelude.inc"

// The names of the data types in a type.
void find_data_types(const Type& type, std::set<std::string>& names) {
  auto all = [&](const std::vector<Type>& list) {
    for (const Type& t : list) find_data_types(t, names);
  };
  if (const DataType* t = as<DataType>(type)) {
    names.insert(t->name);
    all(t->args);
  }
  if (const TupleType* t = as<TupleType>(type)) all(t->fields);
  if (const FunctionType* t = as<FunctionType>(type)) {
    all(t->params);
    find_data_types(t->result, names);
  }
}

// Whether the definitions differ at most in the names of type variables, as those of a text that was printed.
bool is_same_definition(const DataTypeDef& own, const DataTypeDef& other) {
  if (own.params.size() != other.params.size()) return false;
  TypeArguments variables;
  for (size_t k = 0; k < own.params.size(); ++k) variables.emplace(own.params[k].id, variable_type(other.params[k]));
  return std::ranges::equal(own.constructors, other.constructors, [&](const auto& a, const auto& b) {
    return a.name == b.name && std::ranges::equal(a.fields, b.fields, [&](const Type& field, const Type& other_field) {
             return same_type(with_arguments(field, variables), other_field);
           });
  });
}

}  // namespace

Module Parser::parse_prelude(int next_id, Diagnostics& diagnostics) {
  const ParseOptions options{.file = prelude_file, .outside_constant = {}, .is_prelude = true};
  Parser parser(prelude_text, options, diagnostics);
  parser.module_.next_id = next_id;
  std::optional<Module> module = parser.run();
  DLCC_CHECK(module, "the prelude is malformed");
  return std::move(*module);
}

// Computed once in a process. Most undefined names are not in the prelude either, so that it is rarely parsed.
const std::set<std::string>& Parser::names_of_prelude() {
  static const std::set<std::string> names = [] {
    Diagnostics diagnostics;
    const Module module = parse_prelude(1, diagnostics);
    std::set<std::string> all;
    for (const auto& [name, f] : module.functions) all.insert(name);
    for (const auto& [name, def] : module.data_types) {
      all.insert(name);
      for (const ConstructorDef& c : def.constructors) all.insert(c.name);
    }
    return all;
  }();
  return names;
}

// Parsed at the first use, with ids that are unused in the module.
const Module& Parser::prelude() {
  if (!prelude_) {
    prelude_ = parse_prelude(module_.next_id, diagnostics_);
    module_.next_id = prelude_->next_id;
  }
  return *prelude_;
}

bool Parser::load_type(const std::string& name) {
  if (options_.is_prelude || !names_of_prelude().contains(name)) return false;
  if (loaded_types_.contains(name)) return true;
  auto it = prelude().data_types.find(name);
  if (it == prelude().data_types.end()) return false;
  const DataTypeDef& def = it->second;
  const auto own = module_.data_types.find(name);
  if (own != module_.data_types.end() && !is_same_definition(own->second, def)) return false;
  std::set<std::string> used;
  for (const ConstructorDef& c : def.constructors) {
    if (own == module_.data_types.end() && constructors_.contains(c.name)) return false;
    for (const Type& t : c.fields) find_data_types(t, used);
  }
  used.erase(name);
  if (!std::ranges::all_of(used, [&](const std::string& other) { return load_type(other); })) return false;
  loaded_types_.insert(name);
  module_.data_types.emplace(name, def);
  for (const ConstructorDef& c : def.constructors) constructors_.emplace(c.name, Constructor{c.fields.size()});
  return true;
}

bool Parser::load_constructor(const std::string& name) {
  if (options_.is_prelude || !names_of_prelude().contains(name)) return false;
  const DataTypeDef* def = prelude().data_type_of_constructor(name);
  return def && load_type(def->name);
}

// A prelude function uses no types beyond those in its signature.
bool Parser::load_function(const std::string& name) {
  const bool is_own = module_.external_functions.contains(name) || module_.prim_functions.contains(name);
  if (is_own || !names_of_prelude().contains(name)) return false;
  auto it = prelude().functions.find(name);
  if (it == prelude().functions.end()) return false;
  std::set<std::string> types;
  for (const Var& p : it->second.params) find_data_types(p->type, types);
  find_data_types(it->second.result_type, types);
  if (!std::ranges::all_of(types, [&](const std::string& type) { return load_type(type); })) return false;
  module_.functions.emplace(name, it->second);
  return true;
}

// The constructors of the text and those of the prelude.
std::vector<std::string> Parser::known_constructors() {
  std::vector<std::string> names;
  for (const auto& [name, constructor] : constructors_) names.push_back(name);
  if (options_.is_prelude) return names;
  for (const auto& [type, def] : prelude().data_types)
    for (const ConstructorDef& c : def.constructors) names.push_back(c.name);
  return names;
}

std::vector<std::string> Parser::functions_of_prelude() {
  std::vector<std::string> names;
  if (options_.is_prelude) return names;
  for (const auto& [name, f] : prelude().functions) names.push_back("@" + name);
  return names;
}

std::string Parser::why_hidden(const std::string& name) {
  if (constructors_of_text_.contains(name))
    return "its type is defined below: a type comes before uses of its constructors";
  if (options_.is_prelude || !names_of_prelude().contains(name)) return "";
  std::set<std::string> types;
  if (const DataTypeDef* def = prelude().data_type_of_constructor(name)) types.insert(def->name);
  if (const auto f = prelude().functions.find(name); f != prelude().functions.end()) {
    for (const Var& p : f->second.params) find_data_types(p->type, types);
    find_data_types(f->second.result_type, types);
  }
  for (const std::string& type : types) {
    if (loaded_types_.contains(type)) continue;
    std::string own = module_.data_types.contains(type) ? "type " + type : "";
    for (const ConstructorDef& c : prelude().data_types.at(type).constructors)
      if (own.empty() && constructors_.contains(c.name)) own = "constructor " + c.name;
    if (!own.empty())
      return fmt::format("the text has its own {}, so that the prelude's {}, which {} belongs to, is not available",
                         own, type, name);
  }
  return "";
}

// Adds the functions of the prelude that the text uses and does not define, and their callees in the prelude.
void Parser::load_functions() {
  if (options_.is_prelude) return;
  const std::map<std::string, Function>& defined = module_.functions;
  std::vector<std::string> wanted;
  for (const auto& [name, where] : globals_used_)
    if (!defined.contains(name)) wanted.push_back(name);
  while (!wanted.empty()) {
    const std::string name = std::move(wanted.back());
    wanted.pop_back();
    if (defined.contains(name) || !load_function(name)) continue;
    for (const std::string& callee : globals_in(defined.at(name).body)) {
      wanted.push_back(callee);
      auto own = defined.find(callee);
      if (own != defined.end() && own->second.location.file != prelude_file)
        report(DiagnosticId::duplicate_definition, own->second.location,
               fmt::format("@{} of the prelude, which is used here, needs the prelude's @{}", name, callee),
               fmt::format("rename this function, or define @{}", name));
    }
  }
}

}  // namespace dlcc::frontends::relay_text
