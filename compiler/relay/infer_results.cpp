// Type inference of the results of functions: declared and found sizes, and calls that come before the result's type.
#include <algorithm>

#include "relay/function_sizes.h"
#include "relay/inference.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

// The declared type with unknown sizes replaced by the inferred ones.
Type Inference::refine(const Type& declared, const Type& found) const {
  Type d = unifier_.shallow(declared), f = unifier_.shallow(found);
  const TensorType *t = as<TensorType>(d), *u = as<TensorType>(f);
  if (t && u && t->shape.size() == u->shape.size()) {
    Shape shape = t->shape;
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] == unknown_dim()) shape[i] = u->shape[i];
    return with_shape(*t, std::move(shape));
  }
  const TupleType *p = as<TupleType>(d), *q = as<TupleType>(f);
  if (!p || !q || p->fields.size() != q->fields.size()) return d;
  std::vector<Type> fields;
  for (size_t i = 0; i < p->fields.size(); ++i) fields.push_back(refine(p->fields[i], q->fields[i]));
  return tuple_type(std::move(fields));
}

// A symbol of a declared result that is not known where the function is called stands for an unknown size, unless
// `sizes` has it.
Type Inference::with_unknown_sizes(const Type& result, const std::set<std::string>& known,
                                   const std::map<std::string, Dim>& sizes) const {
  const auto is_unknown = [&](const Symbol& s) { return !known.contains(s.name) && !value_symbols_.contains(s.name); };
  return map_leaves(result, &TypeNode::has_symbols, [&](const Type& leaf) {
    const TensorType* t = as<TensorType>(leaf);
    if (!t || is_static(t->shape)) return leaf;
    Shape shape = t->shape;
    for (Dim& d : shape) {
      std::vector<Symbol> unknown = d.symbols();
      std::erase_if(unknown, [&](const Symbol& s) { return !is_unknown(s); });
      if (unknown.empty()) continue;
      const bool are_found = std::ranges::all_of(unknown, [&](const Symbol& s) { return sizes.contains(s.name); });
      d = are_found ? d.substitute(sizes) : unknown_dim();
    }
    return with_shape(*t, std::move(shape));
  });
}

// The declared type with the sizes that the body gives to unknown ones. Where a name occurs again, the size is checked.
Type Inference::expected_result(const Type& declared, const Type& found, const std::set<std::string>& known) const {
  std::vector<DimPair> pairs;
  add_dim_pairs(unifier_.resolve(declared), unifier_.resolve(found), pairs);
  std::map<std::string, Dim> sizes;
  for (const DimPair& pair : pairs)
    if (const auto name = plain_symbol(pair.param); name && !known.contains(*name)) sizes.emplace(*name, pair.argument);
  return with_unknown_sizes(declared, known, sizes);
}

// Symbols of the result that its inference introduced, from number `first_symbol` on, get the numbers that the declared
// result has, so that the types of a printed function are those of the text.
void Inference::name_result_sizes(Function& function, const Type& declared, int first_symbol) {
  if (as<HoleType>(declared)) return;
  std::vector<DimPair> pairs;
  add_dim_pairs(unifier_.resolve(declared), unifier_.resolve(function.result_type), pairs);
  std::map<std::string, Dim> names;
  for (const DimPair& pair : pairs) {  // the same expressions but for the numbers
    const std::vector<Symbol> from = pair.argument.symbols(), to = pair.param.symbols();
    std::map<std::string, Dim> renamed;
    for (size_t k = 0; k < std::min(from.size(), to.size()); ++k) renamed.emplace(from[k].name, Dim::symbol(to[k]));
    if (from.size() != to.size() || pair.argument.substitute(renamed) != pair.param) continue;
    for (size_t k = 0; k < from.size(); ++k) {
      if (number_of(from[k]) < first_symbol || number_of(to[k]) == 0) continue;
      if (!symbols_.insert(to[k].name).second) continue;
      result_names_.insert(to[k].name);
      names.emplace(from[k].name, Dim::symbol(to[k]));
    }
  }
  if (names.empty()) return;
  bool is_known = true;
  for_each_type(function, [&](Type& type) { is_known = is_known && !is_incomplete(unifier_.resolve(type)); });
  if (!is_known) return;  // relations that wait have the symbols, too
  for_each_type(function, [&](Type& type) { type = unifier_.resolve(type); });
  function.result_type = substitute(function.result_type, names);
  substitute_sizes(function.body, names);
}

// The value of the body becomes one of the result's type, which has the sizes that are found in place of unknown ones.
void Inference::coerce_result(Function& function, const Type& found, const Type& declared,
                              const std::set<std::string>& known, const SourceLocation& location) {
  fill_element_types(found, declared);
  const Type expected = expected_result(declared, found, known);
  std::vector<Binding>* outer = std::exchange(out_, &function.body.bindings);
  const Atom value = function.body.result;
  if (!coerce(function.body.result, found, expected, location)) {
    mismatch_of_result(function, expected, found, location);
  } else {
    function.result_type = refine(expected, found);
    if (as<HoleType>(declared)) function.result_type = with_own_sizes(function, function.result_type);
  }
  const bool is_variable = std::holds_alternative<Var>(function.body.result);
  if (is_variable && !names_same(value, function.body.result)) coerced_results_.insert(&function);
  out_ = outer;
}

// The result type with other names for the sizes of functions in it that the parameters, or other functions in it,
// have, too: in a signature, a size that two functions have is one size at each call.
Type Inference::with_own_sizes(const Function& function, const Type& result) {
  std::set<std::string> names;
  for (const Var& p : function.params)
    if (const Type type = unifier_.resolve(p->type))
      for_each_symbol(type, [&](const Symbol& s) { names.insert(s.name); });
  return map_function_values(unifier_.shallow(result), [&](const Type& value) {
    const Type type = unifier_.resolve(value);
    if (!type || !as<FunctionType>(type)->type_params.empty()) return value;
    std::set<std::string> own;
    std::map<std::string, Dim> renamed;
    for_each_param(*as<FunctionType>(type), [&](const Type& param) {
      for_each_symbol(param, [&](const Symbol& s) {
        if (!is_size_of_value(s.name) || !own.insert(s.name).second) return;
        if (!names.insert(s.name).second) renamed.emplace(s.name, own_symbol(s));
      });
    });
    return renamed.empty() ? value : substitute(type, renamed);
  });
}

// Notes the sizes in the result of a local function that its body defines: those which are neither visible where the
// function is made nor sizes of its parameters.
void Inference::note_defined_sizes(const Var& name, const Function& function, std::set<std::string> visible) {
  for (const Var& p : function.params)
    for_each_symbol(unifier_.shallow(p->type), [&](const Symbol& s) { visible.insert(s.name); });
  const Type result = unifier_.resolve(function.result_type);
  if (!result) return;
  for_each_symbol(result, [&](const Symbol& s) {
    if (!visible.contains(s.name) && !value_symbols_.contains(s.name)) result_symbols_[name->id].insert(s.name);
  });
}

// ---- calls before the type of the result ----------------------------------------------------------------------------

static std::string name_of_function(const Atom& function) {
  if (const Var* local = std::get_if<Var>(&function)) return fmt::format("%{}", (*local)->id);
  const GlobalRef* global = std::get_if<GlobalRef>(&function);
  return global ? "@" + global->name : "";
}

// Notes the sizes of a call whose result has no type yet: those of a call in another global function have names there.
void Inference::note_early_call(const Atom& callee, std::map<std::string, Dim> sizes) {
  const GlobalRef* global = std::get_if<GlobalRef>(&callee);
  if (global && global->name != global_)
    for (auto& [name, size] : sizes) size = unknown_dim();
  early_calls_[name_of_function(callee)].push_back(std::move(sizes));
}

// A call that came before the type of the result has the type that is inferred, with the function's own sizes. So it
// must have these sizes, and the body may define none of the result and check none.
void Inference::check_early_calls(const Atom& name, const Function& function, const SourceLocation& location) {
  const auto calls = early_calls_.find(name_of_function(name));
  if (calls == early_calls_.end()) return;
  std::vector<Type> params;
  for (const Var& p : function.params) params.push_back(p->type);
  const Type type = unifier_.resolve(function_type(std::move(params), function.result_type));
  if (!type) return;
  const FunctionType& f = *as<FunctionType>(type);
  bool is_other = coerced_results_.contains(&function) || !defined_sizes(name, f).empty();
  for_each_symbol(f.result, [&](const Symbol& s) {
    for (const auto& sizes : calls->second)
      if (const auto size = sizes.find(s.name); size != sizes.end()) is_other |= size->second != Dim::symbol(s);
  });
  if (!is_other) return;
  const Type declared = with_unknown_sizes(as<FunctionType>(type_of_value(name, type))->result, {});
  fail(DiagnosticId::cannot_infer, location,
       fmt::format("the sizes in the result of {}, which calls itself, cannot be inferred", describe(name)),
       {"so far: " + text(f.result)}, fmt::format("write the result's type, such as -> {}", text(declared)));
}

}  // namespace dlcc::relay
