// Type inference where a value has another type than the place expects: run-time checks of dimensions, and functions at
// the types and sizes of their uses.
#include <algorithm>

#include "relay/inference.h"
#include "relay/type_arguments.h"

namespace dlcc::relay {

bool Inference::can_cast(const Type& f, const Type& e) {
  const Type from = unifier_.shallow(f), to = unifier_.shallow(e);
  const TupleType *fields = as<TupleType>(from), *wanted = as<TupleType>(to);
  if (fields && wanted)
    return std::ranges::equal(fields->fields, wanted->fields, [&](const Type& field, const Type& type) {
      return unifier_.unify(field, type) || can_cast(field, type);
    });
  const TensorType *found = as<TensorType>(from), *expected = as<TensorType>(to);
  if (!found || !expected || !same_element_type(*found, *expected)) return false;
  return std::ranges::equal(found->shape, expected->shape,
                            [](const Dim& a, const Dim& b) { return a == b || !a.is_constant() || !b.is_constant(); });
}

Operation Inference::cast(const Atom& atom, const Type& found, const Type& expected, const SourceLocation& location) {
  const Type from = unifier_.shallow(found), to = unifier_.shallow(expected);
  const TupleType *fields = as<TupleType>(from), *wanted = as<TupleType>(to);
  if (!fields || !wanted) return MatchCast{atom, to};
  MakeTuple tuple;
  for (size_t k = 0; k < fields->fields.size(); ++k) {
    const Type &field = fields->fields[k], &type = wanted->fields[k];
    Atom value = bind("", Project{atom, static_cast<int>(k)}, location);
    if (!unifier_.unify(field, type)) value = bind("checked", cast(value, field, type, location), location);
    tuple.fields.push_back(std::move(value));
  }
  return tuple;
}

// The type of a function where nothing is known but its type: with "?" for the sizes of the result that its body
// defines.
Type Inference::type_of_value(const Atom& atom, const Type& type) const {
  const FunctionType* f = as<FunctionType>(type);
  const Var* var = std::get_if<Var>(&atom);
  const auto defined = var ? result_symbols_.find((*var)->id) : result_symbols_.end();
  if (!f || defined == result_symbols_.end()) return type;
  const Type result = map_leaves(unifier_.shallow(f->result), [&](const Type& leaf) {
    const TensorType* t = as<TensorType>(leaf);
    if (!t || is_static(t->shape)) return leaf;
    Shape shape = t->shape;
    for (Dim& d : shape)
      if (std::ranges::any_of(d.symbols(), [&](const Symbol& s) { return defined->second.contains(s.name); }))
        d = unknown_dim();
    return with_shape(*t, std::move(shape));
  });
  return function_type(f->params, result, f->type_params);
}

bool Inference::is_function(const Atom& atom) const {
  if (const Var* var = std::get_if<Var>(&atom)) return functions_.contains((*var)->id);
  const GlobalRef* global = std::get_if<GlobalRef>(&atom);
  const auto type = global ? signatures_.find(global->name) : signatures_.end();
  return type != signatures_.end() && as<FunctionType>(type->second)->type_params.empty();
}

// Replaces a function %f by fn (%x: T) -> U { %f(%x) }, a function of this type.
void Inference::expand(Atom& atom, const FunctionType& type, const SourceLocation& location) {
  Function function;
  function.location = location;
  function.result_type = type.result;
  Call call{atom, {}, {}};
  for (const Type& param : type.params) call.args.emplace_back(function.params.emplace_back(module_.fresh("x", param)));
  const Var result = module_.fresh("");
  function.body = {{{result, std::move(call), location}}, result};
  atom = bind("", MakeFunction{std::move(function)}, location);
}

// A generic function is a value of the type of each instance.
bool Inference::coerce_generic(Atom& atom, const FunctionType& generic, const Type& expected,
                               const SourceLocation& location) {
  const Type type = instantiate(generic);
  if (!unifier_.unify(type, expected)) return false;
  expand(atom, *as<FunctionType>(type), location);
  return true;
}

// A function with sizes of its own is a value of the type that it has at any sizes.
bool Inference::coerce_sizes(Atom& atom, const FunctionType& found, const FunctionType& expected,
                             const SourceLocation& location) {
  if (!is_function(atom) || found.params.size() != expected.params.size()) return false;
  const bool is_local = std::holds_alternative<Var>(atom) && !globals_.contains(std::get<Var>(atom)->id);
  auto is_own = [&](const std::string& s) { return s != "?" && (!is_local || closure_symbols_.contains(s)); };
  std::vector<DimPair> pairs;
  for (size_t k = 0; k < found.params.size(); ++k)
    add_dim_pairs(unifier_.resolve(found.params[k]), unifier_.resolve(expected.params[k]), pairs);
  std::map<std::string, Dim> sizes;
  match_sizes(pairs, is_own, sizes);
  if (sizes.empty()) return false;
  for (size_t k = 0; k < found.params.size(); ++k)
    if (!unifier_.unify(substitute(unifier_.resolve(found.params[k]), sizes), expected.params[k])) return false;
  expand(atom, expected, location);
  return true;
}

bool Inference::coerce(Atom& atom, const Type& found, const Type& expected, const SourceLocation& location) {
  const Type from = unifier_.shallow(found), to = unifier_.shallow(expected);
  const FunctionType *function = as<FunctionType>(from), *wanted = as<FunctionType>(to);
  const bool is_instance = function && wanted && !function->type_params.empty() && wanted->type_params.empty();
  if (is_instance) return coerce_generic(atom, *function, to, location);
  if (unifier_.unify(found, expected)) return true;
  if (function && wanted) return coerce_sizes(atom, *function, *wanted, location);
  if (!can_cast(found, expected)) return false;
  const Var* value = std::get_if<Var>(&atom);
  atom = bind(value ? (*value)->name : "checked", cast(atom, found, expected, location), location);
  return true;
}

}  // namespace dlcc::relay
