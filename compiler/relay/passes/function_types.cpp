#include "relay/passes/function_types.h"

#include <algorithm>

#include "relay/types_in.h"
#include "relay/unused_name.h"

namespace dlcc::relay {

// Whether a type of functions in the module has a symbol.
static bool has_symbolic_function_type(Module& module) {
  std::function<bool(const Type&)> is_symbolic = [&](const Type& type) {
    auto any = [&](const std::vector<Type>& list) { return std::ranges::any_of(list, is_symbolic); };
    if (const TupleType* t = as<TupleType>(type)) return any(t->fields);
    if (const RefType* t = as<RefType>(type)) return is_symbolic(t->value);
    bool found = false;
    if (as<FunctionType>(type)) for_each_symbol(type, [&](const Symbol&) { found = true; });
    return found;
  };
  bool found = false;
  for (auto& [name, f] : module.functions) for_each_type(f, [&](Type& type) { found |= is_symbolic(type); });
  return found;
}

FunctionTypes::FunctionTypes(Module& module) : module_(module), erases_numbers_(has_symbolic_function_type(module)) {
  for (const auto& [name, def] : module.data_types)
    for (const ConstructorDef& c : def.constructors) constructors_.emplace(c.name, true);
}

Type FunctionTypes::convert(const Type& type) {
  auto all = [&](const std::vector<Type>& list) {
    std::vector<Type> converted;
    for (const Type& t : list) converted.push_back(convert(t));
    return converted;
  };
  if (const TupleType* t = as<TupleType>(type)) return tuple_type(all(t->fields));
  if (const RefType* t = as<RefType>(type)) return ref_type(convert(t->value));
  return as<FunctionType>(type) ? data_type(entry(type).name, {}) : type;
}

bool FunctionTypes::has_sized_reference(const Type& type) const {
  auto any = [&](const std::vector<Type>& list) {
    return std::ranges::any_of(list, [&](const Type& t) { return has_sized_reference(t); });
  };
  if (const TupleType* t = as<TupleType>(type)) return any(t->fields);
  if (const FunctionType* t = as<FunctionType>(type)) return any(t->params) || has_sized_reference(t->result);
  return as<RefType>(type) && without_sizes(type) != type;
}

std::string FunctionTypes::add_constructor(const Type& type, const std::string& function,
                                           const std::vector<Var>& captured) {
  ConstructorDef c{unused_name(function, constructors_), {}};
  constructors_.emplace(c.name, true);
  for (const Var& v : captured) c.fields.push_back(without_sizes(convert(v->type)));
  Entry& e = entry(type);
  e.functions.push_back(function);
  e.constructors.push_back(c);
  return c.name;
}

void FunctionTypes::define() {
  for (auto& [name, f] : module_.functions) for_each_type(f, [&](Type& type) { type = convert(type); });
  std::vector<std::string> names;
  for (const auto& [name, def] : module_.data_types) names.push_back(name);
  for (const std::string& name : names)
    for (ConstructorDef& c : module_.data_types.at(name).constructors)
      for (Type& field : c.fields) field = convert(field);
  for (size_t k = 0; k < entries_.size(); ++k) {  // converting a type may add entries
    const Entry& e = *entries_[k];
    module_.functions[e.apply] = application(e);
    module_.data_types.at(e.name).constructors = e.constructors;
  }
}

FunctionTypes::Entry& FunctionTypes::entry(const Type& function) {
  const Type type = without_sizes(function);
  auto [it, added] = index_.emplace(str(type), entries_.size());
  if (!added) return *entries_[it->second];
  Entry e{type, unused_name("Function", module_.data_types), unused_name("apply", module_.functions), {}, {}};
  module_.data_types.emplace(e.name, DataTypeDef{e.name, {}, {}, false});
  module_.functions[e.apply];  // reserves the name
  return *entries_.emplace_back(std::make_unique<Entry>(std::move(e)));
}

// The type as part of a data type, with "?" for symbolic sizes. Where the module has function types over symbols, a
// function over numbers may be passed for them: then numbers become "?", too.
Type FunctionTypes::without_sizes(const Type& type) const {
  return map_leaves(type, [&](const Type& leaf) {
    const TensorType* t = as<TensorType>(leaf);
    if (!t || (is_static(t->shape) && !erases_numbers_)) return leaf;
    Shape shape = t->shape;
    for (Dim& d : shape)
      if (!d.is_constant() || erases_numbers_) d = unknown_dim();
    return with_shape(*t, std::move(shape));
  });
}

// match (%f) { C(%captured...) => @function(%captured..., %args...), ... }
Function FunctionTypes::application(const Entry& e) {
  const FunctionType& type = *as<FunctionType>(e.type);
  Function f;
  Var function = module_.fresh("f", data_type(e.name, {}));
  f.params.push_back(function);
  std::vector<Atom> args;
  for (const Type& param : type.params) args.emplace_back(f.params.emplace_back(module_.fresh("x", convert(param))));
  f.result_type = convert(type.result);
  auto calls = [&](const std::string& callee, std::vector<Atom> first) {
    first.insert(first.end(), args.begin(), args.end());
    Block block;
    block.result =
        block.bindings.emplace_back(Binding{module_.fresh(""), Call{GlobalRef{callee}, std::move(first), {}}, {}}).var;
    return block;
  };
  if (e.constructors.empty()) {
    f.body = calls(e.apply, {Atom(function)});
    return f;
  }
  Match match{function, {}, true};
  for (size_t k = 0; k < e.constructors.size(); ++k) {
    Pattern::Constructor pattern{e.constructors[k].name, {}};
    std::vector<Atom> captured;
    for (size_t field = 0; field < e.constructors[k].fields.size(); ++field) {
      Var v = module_.fresh("c");
      captured.emplace_back(v);
      pattern.fields.push_back({Pattern::Bind{v}});
    }
    match.clauses.push_back({{std::move(pattern)}, calls(e.functions[k], std::move(captured))});
  }
  f.body.result = f.body.bindings.emplace_back(Binding{module_.fresh(""), std::move(match), {}}).var;
  return f;
}

}  // namespace dlcc::relay
