// Type inference where a value has another type than the place expects: run-time checks of dimensions, and functions at
// the types and sizes of their uses.
#include <algorithm>

#include "relay/function_sizes.h"
#include "relay/inference.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

// Whether values of the data type cannot change, and take no values: its definition has no references and functions.
bool Inference::may_forget_sizes(const std::string& name) const {
  const auto [known_type, is_new] = may_forget_sizes_.emplace(name, false);
  if (!is_new) return known_type->second;
  std::set<std::string> seen;
  std::function<bool(const Type&)> is_fixed = [&](const Type& type) {
    if (as<RefType>(type) || as<FunctionType>(type)) return false;
    const DataType* data = as<DataType>(type);
    const auto known = data ? module_.data_types.find(data->name) : module_.data_types.end();
    if (known != module_.data_types.end() && seen.insert(data->name).second)
      for (const ConstructorDef& c : known->second.constructors)
        if (!std::ranges::all_of(c.fields, is_fixed)) return false;
    return std::ranges::all_of(parts_of(type), is_fixed);
  };
  return known_type->second = is_fixed(data_type(name, {}));
}

// Whether a type has the same parts as another one but for "?" in place of sizes in data, which cannot change: so a
// list of tensors of one size is a list of tensors of any sizes.
bool Inference::forgets_sizes(const Type& w, const Type& f) {
  const Type wanted = unifier_.shallow(w), found = unifier_.shallow(f);
  auto all = [&](const std::vector<Type>& types, const std::vector<Type>& others) {
    return std::ranges::equal(types, others,
                              [&](const Type& type, const Type& other) { return forgets_sizes(type, other); });
  };
  const DataType *data = as<DataType>(wanted), *other = as<DataType>(found);
  if (data && other && may_forget_sizes(data->name)) return data->name == other->name && all(data->args, other->args);
  const TupleType *fields = as<TupleType>(wanted), *others = as<TupleType>(found);
  if (fields && others) return all(fields->fields, others->fields);
  const TensorType *tensor = as<TensorType>(wanted), *known = as<TensorType>(found);
  if (!tensor || !known) return unifier_.unify(wanted, found);
  return same_element_type(*tensor, *known) &&
         std::ranges::equal(tensor->shape, known->shape,
                            [](const Dim& to, const Dim& from) { return to == unknown_dim() || to == from; });
}

bool Inference::are_never_equal(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  return !difference.is_overflow() && difference.is_constant() && difference.value() != 0;
}

bool Inference::can_cast(const Type& f, const Type& e) {
  const Type from = unifier_.shallow(f), to = unifier_.shallow(e);
  if (as<DataType>(from) && as<DataType>(to)) return forgets_sizes(to, from) && !is_incomplete(unifier_.resolve(to));
  const TupleType *fields = as<TupleType>(from), *wanted = as<TupleType>(to);
  if (fields && wanted)
    return std::ranges::equal(fields->fields, wanted->fields, [&](const Type& field, const Type& type) {
      return unifier_.unify(field, type) || can_cast(field, type);
    });
  const TensorType *found = as<TensorType>(from), *expected = as<TensorType>(to);
  if (!found || !expected || !same_element_type(*found, *expected)) return false;
  return std::ranges::equal(found->shape, expected->shape,
                            [](const Dim& a, const Dim& b) { return !are_never_equal(a, b); });
}

Operation Inference::cast(const Atom& atom, const Type& found, const Type& expected, const SourceLocation& location) {
  const Type from = unifier_.shallow(found), to = unifier_.shallow(expected);
  const TupleType *fields = as<TupleType>(from), *wanted = as<TupleType>(to);
  if (!fields || !wanted) return MatchCast{atom, unifier_.resolve(to)};
  MakeTuple tuple;
  for (size_t k = 0; k < fields->fields.size(); ++k) {
    const Type &field = fields->fields[k], &type = wanted->fields[k];
    Atom value = bind("", Project{atom, static_cast<int>(k)}, location);
    if (!unifier_.unify(field, type)) value = bind("checked", cast(value, field, type, location), location);
    tuple.fields.push_back(std::move(value));
  }
  return tuple;
}

Var Inference::bind(std::string name, Operation op, const SourceLocation& location) {
  Binding binding{module_.fresh(std::move(name)), std::move(op), location};
  Var var = binding.var;
  var->type = std::visit([&](auto& o) { return infer(binding, o); }, binding.op);
  learn(binding);
  out_->push_back(std::move(binding));
  return var;
}

// The sizes in the result of a function that its body defines, other ones at each call. Those of a function that it
// returns are found at each call of that one.
std::set<std::string> Inference::defined_sizes(const Atom& atom, const FunctionType& f) const {
  const Var* var = std::get_if<Var>(&atom);
  const bool is_global = var ? globals_.contains((*var)->id) : std::holds_alternative<GlobalRef>(atom);
  std::set<std::string> sizes;
  if (is_global) {
    for_each_symbol(f.result, [&](const Symbol& s) { sizes.insert(s.name); });
    for (const Type& param : f.params) for_each_symbol(param, [&](const Symbol& s) { sizes.erase(s.name); });
  } else if (const auto local = var ? result_symbols_.find((*var)->id) : result_symbols_.end();
             local != result_symbols_.end()) {
    sizes = local->second;
  }
  if (!sizes.empty())
    for (const std::string& name : sizes_of_values_in(f)) sizes.erase(name);
  return sizes;
}

// The type of a function where nothing is known but its type: with "?" for the sizes of the result that its body
// defines.
Type Inference::type_of_value(const Atom& atom, const Type& type) const {
  const FunctionType* f = as<FunctionType>(type);
  if (!f) return type;
  const std::set<std::string> defined = defined_sizes(atom, *f);
  if (defined.empty()) return type;
  const Type result = map_leaves(unifier_.shallow(f->result), &TypeNode::has_symbols, [&](const Type& leaf) {
    const TensorType* t = as<TensorType>(leaf);
    if (!t || is_static(t->shape)) return leaf;
    Shape shape = t->shape;
    for (Dim& d : shape)
      if (std::ranges::any_of(d.symbols(), [&](const Symbol& s) { return defined.contains(s.name); }))
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

// Replaces a function %f by fn (%x: T) -> U { %f(%x) }, a function of this type, which may be generic.
void Inference::expand(Atom& atom, const FunctionType& type, const SourceLocation& location) {
  if (const Var* var = std::get_if<Var>(&atom)) shared_.insert((*var)->id);  // it is called at each call of the new one
  Function function;
  function.location = location;
  function.type_params = type.type_params;
  function.result_type = type.result;
  Call call{atom, {}, {}};
  for (const Type& param : type.params) {
    const Type known = unifier_.resolve(param);  // each "?" in it becomes a size of the new function
    call.args.emplace_back(function.params.emplace_back(module_.fresh("x", known ? known : param)));
  }
  const Var result = module_.fresh("");
  function.body = {{{result, std::move(call), location}}, result};
  atom = bind("", MakeFunction{std::move(function)}, location);
}

// A generic function is a value of the type of each instance.
bool Inference::coerce_generic(Atom& atom, const FunctionType& generic, const Type& expected,
                               const SourceLocation& location) {
  const Type type = instantiate(generic, location);
  if (!unifier_.unify(type, expected)) return false;
  expand(atom, *as<FunctionType>(type), location);
  return true;
}

// A generic function is a value of each generic type of which all instances are instances of its type: a function of
// this type calls it. Its type variables may fill holes of the function around; finish() reports those that escape.
bool Inference::coerce_to_generic(Atom& atom, const Type& found, const FunctionType& expected,
                                  const SourceLocation& location) {
  const Var* var = std::get_if<Var>(&atom);
  if (const auto named = var ? globals_.find((*var)->id) : globals_.end(); named != globals_.end())
    atom = named->second;
  const GlobalRef* global = std::get_if<GlobalRef>(&atom);
  const Type signature = global ? signatures_.at(global->name) : unifier_.shallow(found);
  if (has_kinds(expected.type_params)) return false;  // such a function has copies, and is no value
  const bool is_generic = !as<FunctionType>(signature)->type_params.empty();
  if (!is_generic && !std::holds_alternative<ConstructorRef>(atom)) return false;
  const Type type = is_generic ? instantiate(*as<FunctionType>(signature), location) : found;
  const Type wanted = unifier_.resolve(function_type(expected.params, expected.result, expected.type_params));
  if (!wanted || !unifier_.unify(type, function_type(expected.params, expected.result))) return false;
  expand(atom, *as<FunctionType>(wanted), location);
  return true;
}

// ---- sizes of function values ---------------------------------------------------------------------------------------

void Inference::own(const std::string& size) {
  closure_symbols_.insert(size);
  value_symbols_.insert(size);
}

// A new size of a function value, with the bounds of another one.
Dim Inference::own_symbol(const Symbol& like) {
  const std::string name = fmt::format("?{}", next_symbol_++);
  own(name);
  return Dim::symbol({name, like.low, like.high});
}

// Calls `visit` for the parameters of a function, and those of functions that it returns.
void Inference::for_each_param(const FunctionType& function, const std::function<void(const Type&)>& visit) const {
  for (const FunctionType* f = &function; f; f = as<FunctionType>(unifier_.shallow(f->result)))
    for (const Type& param : f->params) visit(param);
}

// Makes sizes of functions in data and references that the result of a call introduced, from number `first_symbol` on,
// sizes of these functions: no tensor has them.
void Inference::own_sizes_in_data(const Type& result, int first_symbol) {
  if (!has_symbols(result)) return;
  std::set<std::string> of_tensors, of_functions;
  std::function<void(const Type&)> visit = [&](const Type& type) {
    if (const TupleType* t = as<TupleType>(type)) return std::ranges::for_each(t->fields, visit), void();
    if (const DataType* t = as<DataType>(type)) return std::ranges::for_each(t->args, visit), void();
    if (const RefType* t = as<RefType>(type)) return visit(t->value);
    const FunctionType* f = as<FunctionType>(type);
    if (!f) return add_symbols(type, of_tensors);
    for_each_param(*f, [&](const Type& param) {
      for_each_symbol(param, [&](const Symbol& s) {
        if (number_of(s) >= first_symbol) of_functions.insert(s.name);
      });
    });
  };
  visit(result);
  for (const std::string& name : of_functions) {
    if (of_tensors.contains(name)) continue;
    symbols_.erase(name);
    own(name);
  }
}

// The sizes of the function values in a signature.
std::set<std::string> Inference::sizes_of_values_in(const FunctionType& f) const {
  std::vector<Type> types;
  for (const Type& param : f.params) types.push_back(unifier_.resolve(param));
  types.push_back(unifier_.resolve(f.result));
  return sizes_of_function_values(types);
}

// The signature of a function with new symbols for the sizes of the function values in it. In that of a local function,
// a size of the enclosing function is that size.
Type Inference::with_new_sizes(const Atom& callee, const Type& signature, Callee kind) {
  std::map<std::string, Dim> renamed;
  for (const std::string& name : sizes_of_values_in(*as<FunctionType>(signature))) {
    if (kind == Callee::local && symbols_.contains(name) && !is_found_by_call(callee, name)) continue;
    renamed.emplace(name, own_symbol());
  }
  return renamed.empty() ? signature : substitute(signature, renamed);
}

// The same for the value of an atom where nothing is known of its type: a function, or a tuple with functions.
Type Inference::with_new_sizes(const Atom& atom, const Type& type) {
  const auto is_own = sizes_of_value(atom);
  return map_function_values(type, [&](const Type& function) {
    std::map<std::string, Dim> renamed;
    const Type known = unifier_.resolve(function);
    if (!known || !as<FunctionType>(known)->type_params.empty()) return function;
    auto rename = [&](const Symbol& s) {
      if (is_own(s.name) && !renamed.contains(s.name)) renamed.emplace(s.name, own_symbol(s));
    };
    for_each_param(*as<FunctionType>(known), [&](const Type& param) { for_each_symbol(param, rename); });
    return renamed.empty() ? function : substitute(known, renamed);
  });
}

// The type of a value that becomes one of data, or of a reference, or of a variable's type.
Type Inference::type_of_stored(const Atom& atom, const Type& type) {
  return with_new_sizes(atom, type_of_value(atom, unifier_.shallow(type)));
}

// Which symbols in the type of a value are sizes of functions, other ones at each call.
std::function<bool(const std::string&)> Inference::sizes_of_value(const Atom& atom) const {
  const Var* var = std::get_if<Var>(&atom);
  const bool is_global = var ? globals_.contains((*var)->id) : std::holds_alternative<GlobalRef>(atom);
  return [this, is_global](const std::string& s) { return s != "?" && (is_global || is_size_of_value(s)); };
}

// A size in a function's type that is not one of a local function around the current operation.
bool Inference::is_size_of_value(const std::string& s) const {
  return closure_symbols_.contains(s) && !fixed_symbols_.contains(s);
}

// Whether it names a function of any size.
bool Inference::has_own_sizes(const Atom& atom, const SourceLocation& location) {
  Type type = unifier_.shallow(type_of(atom, location));
  if (as<FunctionType>(type)) type = unifier_.resolve(type);
  const FunctionType* function = type ? as<FunctionType>(type) : nullptr;
  if (!function) return false;
  bool has = false;
  for_each_symbol(type, [&, is_own = sizes_of_value(atom)](const Symbol& s) { has |= is_own(s.name); });
  return has && function->type_params.empty();
}

// The sizes for which the parameters of the first function, and of functions that it returns, are those of the second
// one; where parameters of the second one are not known, the sizes for which the results are the same.
std::map<std::string, Dim> Inference::sizes_as_in(const FunctionType& found, const FunctionType& expected,
                                                  const std::function<bool(const std::string&)>& own) const {
  std::vector<DimPair> pairs, pairs_of_result;
  bool is_known = true;
  Type result, wanted;
  const FunctionType *f = &found, *e = &expected;
  while (f && e && f->params.size() == e->params.size()) {
    for (size_t k = 0; k < f->params.size(); ++k) {
      const Type param = unifier_.resolve(e->params[k]);
      is_known = is_known && !is_incomplete(param);
      add_dim_pairs(unifier_.resolve(f->params[k]), param, pairs);
    }
    result = unifier_.shallow(f->result);
    wanted = unifier_.shallow(e->result);
    f = as<FunctionType>(result);
    e = as<FunctionType>(wanted);
    if (!is_known && !f && !e) add_dim_pairs(unifier_.resolve(result), unifier_.resolve(wanted), pairs_of_result);
  }
  std::map<std::string, Dim> sizes;
  match_sizes(pairs, own, sizes);
  match_sizes(pairs_of_result, own, sizes);
  return sizes;
}

// Whether the sizes are the sizes of another function value under other names.
bool Inference::renames_only(const std::map<std::string, Dim>& sizes) const {
  std::set<std::string> names;
  return std::ranges::all_of(sizes, [&](const auto& size) {
    const auto symbol = plain_symbol(size.second);
    return symbol && is_size_of_value(*symbol) && names.insert(*symbol).second;
  });
}

// The type of a function, or of a reference or a tuple with functions, whose sizes have the names that they have in
// another type.
Type Inference::with_sizes_of(const Type& found, const Type& expected,
                              const std::function<bool(const std::string&)>& own) const {
  const Type from = unifier_.shallow(found), to = unifier_.shallow(expected);
  const FunctionType *function = as<FunctionType>(from), *wanted = as<FunctionType>(to);
  if (function && wanted) {
    const std::map<std::string, Dim> sizes = sizes_as_in(*function, *wanted, own);
    const Type known = unifier_.resolve(from);
    return known && !sizes.empty() && renames_only(sizes) ? substitute(known, sizes) : from;
  }
  const RefType *reference = as<RefType>(from), *other = as<RefType>(to);
  if (reference && other) {
    const Type value = with_sizes_of(reference->value, other->value, own);
    return value == reference->value ? from : ref_type(value);
  }
  const TupleType *tuple = as<TupleType>(from), *fields = as<TupleType>(to);
  if (!tuple || !fields || tuple->fields.size() != fields->fields.size()) return from;
  std::vector<Type> renamed;
  for (size_t k = 0; k < tuple->fields.size(); ++k)
    renamed.push_back(with_sizes_of(tuple->fields[k], fields->fields[k], own));
  return renamed == tuple->fields ? from : tuple_type(std::move(renamed));
}

// A function's type at these sizes. Its parts with open holes stay as they are.
Type Inference::at_sizes(const FunctionType& function, const std::map<std::string, Dim>& sizes) const {
  auto at = [&](const Type& part) {
    const Type known = unifier_.resolve(part);
    return known ? substitute(known, sizes) : part;
  };
  std::vector<Type> params;
  for (const Type& param : function.params) params.push_back(at(param));
  return function_type(std::move(params), at(function.result), function.type_params);
}

// Whether functions of any size in the value have other sizes in the expected type, or data there have "?" for sizes.
// The value is a function, data, or a tuple with these.
bool Inference::has_other_sizes(const Type& found, const Type& expected) {
  const Type from = unifier_.shallow(found), to = unifier_.shallow(expected);
  if (as<DataType>(from) && as<DataType>(to))
    return !same_type(unifier_.resolve(from), unifier_.resolve(to)) && can_cast(from, to);
  const FunctionType *function = as<FunctionType>(from), *wanted = as<FunctionType>(to);
  if (function && wanted) {
    if (function->params.size() != wanted->params.size()) return false;
    if (!function->type_params.empty() || !wanted->type_params.empty()) return false;
    return !renames_only(sizes_as_in(*function, *wanted, [&](const std::string& s) { return is_size_of_value(s); }));
  }
  const TupleType *fields = as<TupleType>(from), *types = as<TupleType>(to);
  if (!fields || !types || fields->fields.size() != types->fields.size()) return false;
  bool is_other = false;
  for (size_t k = 0; k < fields->fields.size(); ++k) is_other |= has_other_sizes(fields->fields[k], types->fields[k]);
  return is_other;
}

// Replaces the functions in the value whose sizes are other ones in the expected type by functions of these sizes, and
// data by data of any sizes.
void Inference::fix_sizes(Atom& value, const Type& found, const Type& expected, const SourceLocation& location) {
  if (!has_other_sizes(found, expected)) return;
  const Type from = unifier_.shallow(found), to = unifier_.shallow(expected);
  if (const FunctionType* function = as<FunctionType>(to)) return expand(value, *function, location);
  if (as<DataType>(to)) return void(value = bind("", cast(value, from, to, location), location));
  MakeTuple tuple;
  for (size_t k = 0; k < as<TupleType>(from)->fields.size(); ++k) {
    Atom& field = tuple.fields.emplace_back(bind("", Project{value, static_cast<int>(k)}, location));
    fix_sizes(field, as<TupleType>(from)->fields[k], as<TupleType>(to)->fields[k], location);
  }
  value = bind("", std::move(tuple), location);
}

// A function with sizes of its own is a value of the type that it has at any sizes, or at another size in each call,
// and a function of certain sizes one that checks its arguments where any size is expected.
bool Inference::coerce_sizes(Atom& atom, const FunctionType& found, const FunctionType& expected,
                             const SourceLocation& location) {
  if (found.params.size() != expected.params.size()) return false;
  const std::map<std::string, Dim> sizes = sizes_as_in(found, expected, sizes_of_value(atom));
  bool expects_any_size = false;
  for_each_param(expected, [&](const Type& param) {
    if (const Type known = unifier_.resolve(param))
      for_each_symbol(known, [&](const Symbol& s) { expects_any_size |= value_symbols_.contains(s.name); });
  });
  if (sizes.empty() && !expects_any_size) return false;
  bool is_checked = false;  // whether the function checks its arguments
  for (size_t k = 0; k < found.params.size(); ++k) {
    const Type param = substitute(unifier_.resolve(found.params[k]), sizes);
    if (unifier_.unify(param, expected.params[k])) continue;
    is_checked = true;
    if (!expects_any_size || !can_cast(expected.params[k], param)) return false;
  }
  const Type result = substitute(unifier_.resolve(found.result), sizes);
  if (!is_checked && result && renames_only(sizes) && unifier_.unify(result, expected.result)) return true;
  const bool is_for_each = std::ranges::all_of(sizes, [](const auto& size) { return size.second == unknown_dim(); });
  if (!is_checked && result && is_for_each) {
    const Type of_each = with_any_sizes(result, [](const std::string& s) { return s == "?"; });
    if (unifier_.unify(of_each, expected.result)) return true;
  }
  if (result && as<HoleType>(unifier_.shallow(expected.result))) unifier_.unify(result, expected.result);
  expand(atom, expected, location);
  return true;
}

bool Inference::coerce(Atom& atom, const Type& found, const Type& expected, const SourceLocation& location) {
  const Type from = unifier_.shallow(found), to = unifier_.shallow(expected);
  const FunctionType *function = as<FunctionType>(from), *wanted = as<FunctionType>(to);
  const bool is_instance = function && wanted && !function->type_params.empty() && wanted->type_params.empty();
  if (is_instance) return coerce_generic(atom, *function, to, location);
  // If the function's result is known and its argument is not, such as A of a function fn (A) -> B whose result another
  // function takes, A gets the sizes for which the result is that B.
  const bool is_open = wanted && std::ranges::any_of(wanted->params, [&](const Type& param) {
                         return is_incomplete(unifier_.resolve(param));
                       });
  if (unifier_.unify(is_open ? with_sizes_of(from, to, sizes_of_value(atom)) : found, expected)) return true;
  if (function && wanted && !wanted->type_params.empty()) return coerce_to_generic(atom, from, *wanted, location);
  if (as<TupleType>(from) && as<TupleType>(to)) {
    const Type renamed = with_sizes_of(from, to, sizes_of_value(atom));
    if (renamed != from && unifier_.unify(renamed, to)) return true;
    if (has_other_sizes(from, to)) {
      fix_sizes(atom, from, to, location);
      const Type fixed = type_of(atom, location);
      return !has_other_sizes(fixed, to) && coerce(atom, fixed, to, location);
    }
  }
  if (function && wanted) return coerce_sizes(atom, *function, *wanted, location);
  if (!can_cast(found, expected)) return false;
  const Var* value = std::get_if<Var>(&atom);
  atom = bind(value ? (*value)->name : "checked", cast(atom, found, expected, location), location);
  return true;
}

}  // namespace dlcc::relay
