// Type inference of functions and blocks; infer_operations.cpp and infer_calls.cpp have the operations. Bindings are
// visited in order, so that in straight-line code each operation's operands are known and its type relation is decided
// at once. A type that is not known yet is a hole, and relations over holes wait in the queue.
#include <algorithm>

#include "relay/call_graph.h"
#include "relay/foreign_sizes.h"
#include "relay/function_sizes.h"
#include "relay/inference.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

bool Inference::run() {
  declare_symbols_of_text();
  for (auto& [name, function] : module_.functions) {
    if (name != "main" && may_be_template(function)) {
      Function text = copy_of_text(function, GlobalRef{name}, GlobalRef{name});
      rename_symbols(text);
      texts_.emplace(name, std::move(text));
    }
    declare(function, false);
    signatures_[name] = relay::type_of(module_, GlobalRef{name});
  }
  for (const std::string& name : callees_first(module_)) infer_global(name);
  infer_waiting_instances();
  fill_holes_of_copies();
  // The parameters of a function with an empty name are the undefined names of an incomplete module. Nothing determines
  // their types, so that relations stay open; relations also stay open as consequences of errors.
  const bool is_complete = !module_.functions.contains("");
  if (is_complete && !diagnostics_.has_errors()) settle_unused_functions();
  if (is_complete && !diagnostics_.has_errors()) report_open_relations();
  if (!is_complete || diagnostics_.has_errors()) return false;
  choose_open_type_arguments();
  replace_templates();
  merge_copies();
  type_variables_.clear();
  for (auto& [name, function] : module_.functions) finish(function);
  if (!chosen_sizes_.empty() && !diagnostics_.has_errors())
    forget_foreign_sizes(module_, sizes_of_open_bodies_, [this](const Type& type, const std::set<std::string>& sizes) {
      return with_any_sizes_in_data(type, sizes);
    });
  return !diagnostics_.has_errors();
}

// A type argument that nothing determines, such as the elements of the list in `@length(Nil)`, is (). No relation waits
// for it, and values of a variable's type are only passed on, so that every type would do.
void Inference::choose_open_type_arguments() {
  for (const int id : open_arguments_)
    if (const Type type = hole_type(id); unifier_.shallow(type) == type) unifier_.unify(type, tuple_type({}));
}

// New symbols are named "?1", "?2", ...; numbering begins after the names that the module has.
void Inference::declare_symbols_of_text() {
  auto see = [&](const Symbol& s) {
    symbols_of_text_.insert(s.name);
    next_symbol_ = std::max(next_symbol_, number_of(s) + 1);
  };
  for (auto& [name, f] : module_.functions) {
    for_each_type(f, [&](const Type& type) { for_each_symbol(type, see); });
    for_each_defined_symbol(f.body, see);
  }
}

// ---- functions ------------------------------------------------------------------------------------------------------

void Inference::declare(Function& function, bool local) {
  if (auto kinds = open_kinds(function); !kinds.empty()) kinds_.emplace(&function, std::move(kinds));
  auto anonymous = [](const std::string& symbol) { return symbol == "?"; };
  const int first_symbol = next_symbol_;
  for (Var& p : function.params) {
    p->type = open_symbols(p->type ? open_holes(p->type) : unifier_.fresh(), anonymous);
    if (!local) continue;
    for_each_symbol(p->type, [&](const Symbol& s) {
      if (!symbols_.contains(s.name) || number_of(s) >= first_symbol) closure_symbols_.insert(s.name);
    });
  }
  function.result_type = function.result_type ? open_holes(function.result_type) : unifier_.fresh();
}

// In the body, each call of a function that is a parameter finds the sizes of the function.
void Inference::own_sizes_of_values(const Function& function) {
  std::vector<Type> signature;
  for (const Var& p : function.params) signature.push_back(unifier_.resolve(p->type));
  signature.push_back(unifier_.resolve(function.result_type));
  for (const std::string& size : sizes_of_function_values(signature))
    if (!symbols_.contains(size) || closure_symbols_.contains(size)) own(size);
}

// Sizes of parameters that no tensor of them has are not known when the function runs: those in data, references and
// functions.
void Inference::enter_parameter_sizes(const Function& function, bool is_local) {
  std::set<std::string> bound;
  std::vector<Type> types;
  for (const Var& p : function.params)
    if (const Type type = unifier_.resolve(p->type)) types.push_back(type);
  for (const Type& type : types)
    for_each_field(type, [&](const Type& field) {
      if (as<TensorType>(field)) add_symbols(field, bound);
    });
  for (const Type& type : types)
    for_each_symbol(type, [&](const Symbol& s) {
      const bool is_own = !value_symbols_.contains(s.name) && (!is_local || closure_symbols_.contains(s.name));
      if (is_own && s.name != "?") unbound_symbols_.insert(s.name);
    });
  for (const std::string& name : bound) unbound_symbols_.erase(name);
}

// Only declared sizes are checked: operators compute all other sizes from them, and check their results.
void Inference::check_size(const Type& type, const SourceLocation& location, const std::string& what) {
  for_each_field(unifier_.shallow(type), [&](const Type& field) {
    const TensorType* t = as<TensorType>(field);
    if (t && (product(t->shape) * Dim(bits(t->dtype))).is_overflow())
      fail(DiagnosticId::too_large, location,
           fmt::format("{} has type {}, whose size does not fit 63 bits", what, str(field)));
  });
}

void Inference::infer_function(Function& function) {
  symbols_.clear();
  result_names_.clear();
  known_names_.clear();
  closure_symbols_.clear();
  value_symbols_.clear();
  fixed_symbols_.clear();
  unbound_symbols_.clear();
  type_variables_.clear();
  for (const TypeVariable& v : function.type_params) type_variables_.insert(v.id);
  own_sizes_of_values(function);
  for (const Var& p : function.params) {
    check_size(p->type, function.location, fmt::format("parameter '{}'", p->name));
    enter_symbols(p->type);
  }
  enter_parameter_sizes(function, false);
  const int first_symbol = next_symbol_;
  const Type found = infer_block(function.body);
  std::set<std::string> universal;
  for (const Var& p : function.params) for_each_symbol(p->type, [&](const Symbol& s) { universal.insert(s.name); });
  const Type declared = function.result_type;
  coerce_result(function, found, declared, universal, function.location);
  out_ = nullptr;
  retry_relations();
  name_result_sizes(function, declared, first_symbol);
}

Type Inference::infer_block(Block& block) {
  std::vector<Binding> bindings = std::move(block.bindings);
  block.bindings.clear();
  block.bindings.reserve(bindings.size());
  std::vector<Binding>* outer = std::exchange(out_, &block.bindings);
  SourceLocation last = bindings.empty() ? SourceLocation() : bindings.back().location;
  for (Binding& b : bindings) infer_binding(std::move(b));
  copy_value(block.result);
  if (Instance* instance = instantiate_function(block.result, last)) settle(*instance);
  out_ = outer;
  return type_of_operand(block.result, last);
}

std::optional<std::string> plain_symbol(const Dim& d) {
  if (d.is_constant()) return std::nullopt;
  std::vector<Symbol> symbols = d.symbols();
  bool plain = symbols.size() == 1 && d == Dim::symbol(symbols[0]);
  return plain ? std::optional(symbols[0].name) : std::nullopt;
}

void Inference::infer_binding(Binding binding) {
  Type annotation = binding.var->type ? open_holes(binding.var->type) : nullptr;
  int first_symbol = next_symbol_;
  project_value(binding.op);
  std::optional<GeneralValue> value = open_value(binding);
  const int outer_scope = std::exchange(scope_, value ? value->scope : scope_);
  const size_t errors = diagnostics_.error_count();
  std::vector<Instance*> instances = instantiate_functions(binding.op, binding.location);
  const size_t bindings_before = out_->size();
  std::swap(calling_, instances);
  Type found = std::visit([&](auto& op) { return infer(binding, op); }, binding.op);
  std::swap(calling_, instances);
  for (Instance* instance : instances) settle(*instance);
  found = unifier_.shallow(found);
  if (const TypeLimits& limits = unifier_.limits(); limits.exclude(found))
    found = fail(DiagnosticId::too_large, binding.location,
                 fmt::format("the type of {} is too large: it has more than {}", describe(binding.var),
                             found->depth > limits.depth ? fmt::format("{} levels", limits.depth)
                                                         : fmt::format("{} parts", limits.size)));
  if (annotation)
    apply_annotation(binding, found, annotation, first_symbol);
  else
    binding.var->type = found;
  if (!globals_.contains(binding.var->id)) enter_symbols(binding.var->type);  // a global function's sizes are its own
  learn(binding);
  if (as<FunctionType>(found) || as<RefType>(found)) definitions_.emplace(binding.var->id, binding.location);
  scope_ = outer_scope;
  const bool is_checked = out_->size() > bindings_before;  // when it runs, by operations before it
  if (value && !is_checked && diagnostics_.error_count() == errors && is_general(binding, value->text.op))
    add_general_value(std::move(*value));
  out_->push_back(std::move(binding));
  retry_relations();
}

// Adds the names of the new symbols in a size whose annotation is the same expression of other new symbols.
void Inference::name_symbols_in(const Dim& found, const Dim& annotation,
                                const std::function<bool(const std::string&)>& is_fresh,
                                std::map<std::string, Dim>& names) const {
  std::map<std::string, Dim> all = names;
  match_sizes({{found, annotation}}, is_fresh, all);
  const bool are_new = std::ranges::all_of(all, [&](const auto& entry) {
    const auto name = plain_symbol(entry.second);
    return names.contains(entry.first) || (name && *name != "?" && !symbols_.contains(*name));
  });
  if (are_new && found.substitute(all) == annotation) names = std::move(all);
}

// New sizes in data and in a reference, and those of functions there, get the names in the annotation.
void Inference::name_sizes_in_data(const Type& found, const Type& annotation, int first_symbol,
                                   std::map<std::string, Dim>& names) const {
  std::vector<DimPair> pairs;
  add_dim_pairs(unifier_.resolve(found), unifier_.resolve(annotation), pairs);
  const auto is_own = [&](const std::string& s) {
    const bool is_new = is_size_of_value(s) || number_of({s}) >= first_symbol;
    return is_new && !names.contains(s);
  };
  std::map<std::string, Dim> sizes;
  match_sizes(pairs, is_own, sizes);
  for (const auto& [name, size] : sizes)  // functions in several values may have the same name for any size
    if (const auto to = plain_symbol(size); to && (!symbols_.contains(*to) || is_size_of_value(*to)))
      names.emplace(name, size);
}

// A size that only the parameters of an annotation's function type name is any size, and so is "?" there; one that only
// its result names is another one at each call. Gives the annotation with names in place of the former "?", and "?" in
// place of the latter names.
Type Inference::own_sizes_of_annotation(const Type& annotation) {
  if (!has_symbols(annotation)) return annotation;
  auto all = [&](const std::vector<Type>& list) {
    std::vector<Type> owned;
    for (const Type& t : list) owned.push_back(own_sizes_of_annotation(t));
    return owned;
  };
  if (const TupleType* t = as<TupleType>(annotation)) return tuple_type(all(t->fields));
  if (const DataType* t = as<DataType>(annotation)) return data_type(t->name, all(t->args));
  if (const RefType* t = as<RefType>(annotation)) return ref_type(own_sizes_of_annotation(t->value));
  const FunctionType* f = as<FunctionType>(annotation);
  if (!f) return annotation;
  const std::set<std::string> symbols = symbols_;
  std::vector<Type> params;
  for (const Type& param : f->params) {
    params.push_back(open_symbols(param, [](const std::string& s) { return s == "?"; }));
    for_each_symbol(params.back(), [&](const Symbol& s) {
      if (s.name != "?" && !symbols.contains(s.name)) own(s.name);
    });
  }
  for (const std::string& name : value_symbols_) symbols_.erase(name);
  const Type result = own_sizes_of_annotation(f->result);  // a function that is returned has sizes of its own
  std::set<std::string> known = symbols;
  for (const Type& param : params) for_each_symbol(param, [&](const Symbol& s) { known.insert(s.name); });
  return function_type(std::move(params), with_unknown_sizes(result, known), f->type_params);
}

// Fills holes for the element types of tensors in a type that has sizes, such as _ in Tensor[(?), _], by those of the
// value. The sizes may be other ones.
void Inference::fill_element_types(const Type& found, const Type& annotation) {
  const Type from = unifier_.shallow(found), to = unifier_.shallow(annotation);
  const TensorType* tensor = as<TensorType>(from);
  const OpenTensorType* open = as<OpenTensorType>(to);
  if (tensor && open) {
    unifier_.unify(open->element, with_shape(*tensor, {}));
    return;
  }
  const std::vector<Type> parts = parts_of(from), wanted = parts_of(to);
  if (from->v.index() != to->v.index() || parts.size() != wanted.size()) return;
  for (size_t k = 0; k < parts.size(); ++k) fill_element_types(parts[k], wanted[k]);
}

// The annotation with "?" for sizes that it leaves unknown. The symbols that the operation introduced, from number
// `first_symbol` on, get the names in the annotation.
Type Inference::name_new_symbols(const Type& found, const Type& annotation, int first_symbol,
                                 std::map<std::string, Dim>& names) {
  fill_element_types(found, annotation);
  const Type f = unifier_.shallow(found), a = unifier_.shallow(annotation);
  const TupleType *found_fields = as<TupleType>(f), *fields = as<TupleType>(a);
  if (found_fields && fields && found_fields->fields.size() == fields->fields.size()) {
    std::vector<Type> wanted;
    for (size_t k = 0; k < fields->fields.size(); ++k)
      wanted.push_back(name_new_symbols(found_fields->fields[k], fields->fields[k], first_symbol, names));
    return tuple_type(std::move(wanted));
  }
  const FunctionType *function = as<FunctionType>(f), *named_function = as<FunctionType>(a);
  if (function && named_function) {  // the sizes of a function value have the annotation's names
    const auto is_own = [&](const std::string& s) {
      return (is_size_of_value(s) || number_of({s}) >= first_symbol) && !names.contains(s);
    };
    for (const auto& [name, size] : sizes_as_in(*function, *named_function, is_own))
      if (const auto to = plain_symbol(size); to && !symbols_.contains(*to)) names.emplace(name, size);
    return a;
  }
  if (as<DataType>(a) || as<RefType>(a)) {
    name_sizes_in_data(f, a, first_symbol, names);
    return a;
  }
  const TensorType *tensor = as<TensorType>(f), *named = as<TensorType>(a);
  if (!tensor || !named || tensor->shape.size() != named->shape.size() || is_static(named->shape)) return a;
  Shape wanted = named->shape;
  auto is_fresh = [&](const std::string& s) { return number_of(Symbol{s}) >= first_symbol; };
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::optional<std::string> from = plain_symbol(tensor->shape[i]), to = plain_symbol(wanted[i]);
    if (!to) name_symbols_in(tensor->shape[i], wanted[i], is_fresh, names);
    if (!to || symbols_.contains(*to)) continue;
    if (const auto known = known_names_.find(*to); known != known_names_.end()) {
      wanted[i] = known->second;
      continue;
    }
    const bool is_named =
        from && is_fresh(*from) && *to != "?" && names.emplace(*from, wanted[i]).first->second == wanted[i];
    if (is_named) continue;
    if (*to != "?" && tensor->shape[i] != unknown_dim()) known_names_.insert_or_assign(*to, tensor->shape[i]);
    wanted[i] = unknown_dim();
  }
  return with_shape(*named, std::move(wanted));
}

// A symbol that this operation introduced is renamed to the annotation's symbol; other symbols of the annotation that
// are new mean unknown sizes. The annotation must accept the type, possibly by a check at run time.
void Inference::apply_annotation(Binding& binding, Type found, Type annotation, int first_symbol) {
  std::map<std::string, Dim> names;
  annotation = name_new_symbols(found, own_sizes_of_annotation(annotation), first_symbol, names);
  if (const Type known = names.empty() ? nullptr : unifier_.resolve(found)) found = substitute(known, names);
  for (const auto& [name, size] : names)
    if (is_size_of_value(name)) own(*plain_symbol(size));
  binding.var->type = found;
  if (unifier_.unify(found, annotation)) return;
  if (can_cast(found, annotation)) {
    Var checked = binding.var;
    binding.var = module_.fresh(checked->name, found);
    SourceLocation location = binding.location;
    learn(binding);
    out_->push_back(std::move(binding));
    binding = Binding{checked, cast(out_->back().var, found, annotation, location), location};
    std::visit([&](auto& op) { checked->type = infer(binding, op); }, binding.op);
    return;
  }
  if (has_annotated_sizes(binding, found, annotation)) return;
  mismatch(binding.location, describe(binding.var), annotation, found, "the annotation and the value disagree");
}

// Whether the operation gives a function that has the annotated type at certain sizes, or a tuple with such functions.
// The variable is that function, or one of those among which the operation selects.
bool Inference::has_annotated_sizes(Binding& binding, const Type& found, const Type& annotation) {
  const Type from = unifier_.shallow(found), to = unifier_.shallow(annotation);
  const FunctionType *function = as<FunctionType>(from), *wanted = as<FunctionType>(to);
  if ((!function || !wanted) && !has_other_sizes(from, to)) {  // at most their names differ
    const Type renamed = with_sizes_of(from, to, [&](const std::string& s) { return is_size_of_value(s); });
    if (renamed == from || !unifier_.unify(renamed, to)) return false;
    binding.var->type = renamed;
    return true;
  }
  if (MakeTuple* tuple = std::get_if<MakeTuple>(&binding.op)) {
    for (size_t k = 0; k < tuple->fields.size(); ++k)
      fix_sizes(tuple->fields[k], as<TupleType>(from)->fields[k], as<TupleType>(to)->fields[k], binding.location);
    binding.var->type = infer(binding, *tuple);
    return unifier_.unify(binding.var->type, to);
  }
  const bool is_selected = std::holds_alternative<If>(binding.op) || std::holds_alternative<Match>(binding.op);
  if (function && is_selected) {
    const auto sizes = sizes_as_in(*function, *wanted, [&](const std::string& s) { return is_size_of_value(s); });
    const Type known = unifier_.resolve(from);
    if (known && unifier_.unify(substitute(known, sizes), to)) {
      binding.var->type = to;
      return true;
    }
  }
  const Alias* other = std::get_if<Alias>(&binding.op);
  Atom value = other ? other->value : Atom(module_.fresh(binding.var->name, found));
  if (!other) {
    name_function(std::get<Var>(value), binding.var);
    out_->push_back({std::get<Var>(value), std::move(binding.op), binding.location});
    learn(out_->back());
  }
  const Atom named = value;
  binding.op = Alias{value};
  if (!coerce(value, found, to, binding.location)) return false;
  Alias alias{value};
  binding.var->type = infer(binding, alias);
  binding.op = std::move(alias);
  if (!names_same(named, value)) globals_.erase(binding.var->id);
  return true;
}

// ---- the end --------------------------------------------------------------------------------------------------------

void Inference::finish(VarNode& var, const SourceLocation& location) {
  Type type = unifier_.resolve(var.type);
  if (!type) {
    fail(DiagnosticId::too_large, location, fmt::format("the type of %{} is too large", var.name));
    return;
  }
  if (type->has_holes)
    fail(DiagnosticId::cannot_infer, location,
         var.name.empty() ? "the type of this value cannot be inferred"
                          : fmt::format("the type of %{} cannot be inferred", var.name),
         {"so far: " + relay::str(type)},
         var.name.empty() ? "bind it with its type: let %x: List[int32] = ..."
                          : fmt::format("annotate it: %{}: Tensor[(...), float32]", var.name));
  for_each_free_variable(type, [&](const TypeVariable& v) {
    const bool is_visible = !type_variables_.insert(v.id).second;  // one error for each variable is enough
    if (!is_visible) report_escape(var, type, v, location);
  });
  var.type = type;
}

// A type variable is another type at each call of its function, and means nothing outside of it.
void Inference::report_escape(const VarNode& var, const Type& type, const TypeVariable& v,
                              const SourceLocation& where) {
  const std::string name = var.name.empty() ? "this value" : "%" + var.name;
  fail(DiagnosticId::type_mismatch, where,
       fmt::format("{} has type {}, but {} has a meaning only in the function that declares it", name, relay::str(type),
                   v.name),
       {}, fmt::format("bind {} in that function, or pass it to the function", name));
}

void Inference::finish(Function& function) {
  const std::set<int> outer = type_variables_;
  for (const TypeVariable& v : function.type_params) type_variables_.insert(v.id);
  for (Var& p : function.params) finish(*p, function.location);
  finish(function.body, function);
  VarNode result{0, "result", function.result_type};
  finish(result, function.location);
  function.result_type = result.type;
  type_variables_ = outer;
}

void Inference::finish(Pattern& pattern, const Function& function) {
  auto fields = [&](std::vector<Pattern>& list) {
    for (Pattern& p : list) finish(p, function);
  };
  std::visit(
      overloaded{[](Pattern::Wildcard&) {}, [&](Pattern::Bind& p) { finish(*p.var, function.location); },
                 [&](Pattern::Constructor& p) { fields(p.fields); }, [&](Pattern::Tuple& p) { fields(p.fields); }},
      pattern.v);
}

void Inference::finish(Block& block, const Function& function) {
  for (Binding& b : block.bindings) {
    size_t errors = diagnostics_.error_count();
    if (MakeFunction* closure = std::get_if<MakeFunction>(&b.op)) {
      finish(*closure->function);
    } else {
      if (Match* match = std::get_if<Match>(&b.op))
        for (Clause& c : match->clauses) finish(c.pattern, function);
      for_each_block(b.op, [&](Block& inner) { finish(inner, function); });
    }
    if (diagnostics_.error_count() == errors) finish(*b.var, b.location);
  }
}

}  // namespace dlcc::relay
