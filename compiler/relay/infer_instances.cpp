// Type inference of functions whose types are incomplete, at each of their uses (instances.h).
#include <algorithm>

#include "relay/call_graph.h"
#include "relay/inference.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"
#include "relay/unused_name.h"

namespace dlcc::relay {

namespace {

// The hole in a type; 0 if there is none.
int hole_in(const Type& type) {
  int id = 0;
  map_leaves(type, &TypeNode::has_holes, [&](const Type& leaf) {
    id = as<HoleType>(leaf)->id;
    return leaf;
  });
  return id;
}

const Instance& in_place_of(const Instance& instance) {
  return instance.same_as ? in_place_of(*instance.same_as) : instance;
}

}  // namespace

bool is_incomplete(const Type& type) { return !type || has_holes(type); }

bool escapes(const Type& type, const std::set<int>& visible) {
  bool found = false;
  for_each_free_variable(type, [&](const TypeVariable& v) { found = found || !visible.contains(v.id); });
  return found;
}

// ---- templates ------------------------------------------------------------------------------------------------------

bool Inference::has_kinds(const std::vector<TypeVariable>& type_params) {
  return std::ranges::any_of(type_params, [](const TypeVariable& v) { return v.kind != Kind::type; });
}

bool Inference::may_be_template(const Function& f) {
  const bool open_params = std::ranges::any_of(f.params, [](const Var& p) { return is_incomplete(p->type); });
  return has_kinds(f.type_params) || open_params || (f.params.empty() && is_incomplete(f.result_type));
}

bool Inference::has_holes(const Function& f) const {
  auto open = [&](const Type& type) { return is_incomplete(unifier_.resolve(type)); };
  return open(f.result_type) || std::ranges::any_of(f.params, [&](const Var& p) { return open(p->type); });
}

// Variables of shapes and element types become holes in the function: its operators need known types.
std::vector<std::pair<TypeVariable, Type>> Inference::open_kinds(Function& function) {
  std::vector<std::pair<TypeVariable, Type>> opened;
  std::map<int, Type> holes;
  for (const TypeVariable& v : function.type_params)
    if (v.kind != Kind::type) holes[v.id] = opened.emplace_back(v, unifier_.fresh()).second;
  if (opened.empty()) return opened;
  std::erase_if(function.type_params, [](const TypeVariable& v) { return v.kind != Kind::type; });
  for_each_type(function, [&](Type& type) {
    type = map_leaves(type, &TypeNode::has_variables, [&](const Type& leaf) {
      const auto it = holes.find(as<VariableType>(leaf)->variable.id);
      return it == holes.end() ? leaf : it->second;
    });
  });
  return opened;
}

// A declared variable stands for any shape or element type: the body must not need a certain one.
void Inference::check_kinds(const std::vector<std::pair<TypeVariable, Type>>& opened, const SourceLocation& location) {
  std::map<int, std::string> by_hole;
  for (const auto& [variable, hole] : opened) {
    const Type type = unifier_.shallow(hole);
    const HoleType* open = as<HoleType>(type);
    const TensorType* tensor = as<TensorType>(type);
    if (tensor)
      fail(DiagnosticId::type_mismatch, location,
           fmt::format("the function needs {} to be {}", variable.name,
                       variable.kind == Kind::shape ? dlcc::str(tensor->shape) : text(type)),
           {}, "write it in place of the variable");
    else if (auto [other, first] = by_hole.emplace(open ? open->id : 0, variable.name); open && !first)
      fail(DiagnosticId::type_mismatch, location,
           fmt::format("the function needs {} and {} to be equal", other->second, variable.name), {},
           "use one variable for both");
  }
}

Function Inference::copy_of_text(const Function& function, const Atom& name, const Atom& copy) {
  std::map<int, Atom> renamed;
  if (const Var* v = std::get_if<Var>(&name)) renamed.emplace((*v)->id, copy);
  Function f = copy_function(module_, function, renamed);
  const GlobalRef* global = std::get_if<GlobalRef>(&name);
  if (global && !names_same(name, copy)) rename_globals(f.body, {{global->name, std::get<GlobalRef>(copy).name}});
  shared_.merge(repeatedly_used_values(f));
  called_.merge(called_variables(f));
  for (const auto& [id, atom] : renamed)
    if (const int copied = std::get<Var>(atom)->id; copied != id) copied_from_.emplace(copied, id);
  return f;
}

// Gives the symbols that the text of a function introduces, those that are not visible where it is defined, names that
// nothing else in the module has: the types of an instance have symbols of the place of its use, too.
void Inference::rename_symbols(Function& text) {
  std::map<std::string, Dim> names;
  auto rename = [&](const Symbol& s) {
    if (s.name == "?" || symbols_.contains(s.name) || names.contains(s.name)) return;
    std::string name = s.name;
    if (number_of(s) > 0) name = fmt::format("?{}", next_symbol_++);
    for (int k = 1; !symbols_of_text_.insert(name).second; ++k) name = fmt::format("{}_{}", s.name, k);
    names.emplace(s.name, Dim::symbol({name, s.low, s.high}));
  };
  for_each_type(text, [&](const Type& type) { for_each_symbol(type, rename); });
  for_each_defined_symbol(text.body, rename);
  for (const Var& p : text.params) p->type = substitute(p->type, names);
  text.result_type = substitute(text.result_type, names);
  substitute_sizes(text.body, names);
}

// Whether the function is a copy of one that is inferred at each use.
bool Inference::is_copy_of_template(const Var& var) const {
  for (auto it = copied_from_.find(var->id); it != copied_from_.end(); it = copied_from_.find(it->second))
    if (local_templates_.contains(it->second)) return true;
  return false;
}

// Infers a function after its callees. If all of these are complete, only uses can fill the holes that remain: the
// function becomes a template.
void Inference::infer_global(const std::string& name) {
  Function& function = module_.functions.at(name);
  const std::vector<std::string> callees = globals_in(function.body);
  const bool is_complete = std::ranges::all_of(callees, [&](const std::string& callee) {
    return callee == name || complete_.contains(callee) || !module_.functions.contains(callee);
  });
  if (is_complete) complete_.insert(name);
  shared_.merge(repeatedly_used_values(function));
  called_.merge(called_variables(function));
  const bool may_be_template = is_complete && name != "main" && texts_.contains(name);
  const size_t errors = diagnostics_.error_count();
  const int scope = may_be_template ? scopes_.open(0) : 0;
  scope_ = scope;
  global_ = name;
  infer_function(function);
  scope_ = 0;
  signatures_[name] = relay::type_of(module_, GlobalRef{name});
  check_early_calls(GlobalRef{name}, function, function.location);
  if (auto kinds = kinds_.find(&function); kinds != kinds_.end()) {
    check_kinds(kinds->second, function.location);
    if (name == "main")
      fail(DiagnosticId::unsupported_construct, function.location, "@main has a variable of a shape or an element type",
           {}, "@main is called from outside: give its parameters types");
  }
  if (may_be_template && has_holes(function) && diagnostics_.error_count() == errors)
    add_template(GlobalRef{name}, std::move(texts_.at(name)), scope, kinds_.contains(&function), &function);
}

void Inference::add_template(Atom name, Function text, int scope, bool declared, Function* function) {
  const int64_t operations = 1 + count_operations(text.body);
  Template* t =
      templates_.emplace_back(new Template{name, std::move(text), operations, scope, declared, {}, function}).get();
  if (const Var* v = std::get_if<Var>(&name)) {
    t->type_variables = type_variables_;
    local_templates_[(*v)->id] = t;
  } else {
    global_templates_[std::get<GlobalRef>(name).name] = t;
  }
}

Template* Inference::template_of(const Atom& atom) const {
  if (const Var* v = std::get_if<Var>(&atom)) {
    auto it = local_templates_.find((*v)->id);
    return it == local_templates_.end() ? nullptr : it->second;
  }
  const GlobalRef* g = std::get_if<GlobalRef>(&atom);
  auto it = g ? global_templates_.find(g->name) : global_templates_.end();
  return it == global_templates_.end() ? nullptr : it->second;
}

// ---- instances ------------------------------------------------------------------------------------------------------

std::vector<Instance*> Inference::instantiate_functions(Operation& op, const SourceLocation& location) {
  std::vector<Instance*> instances;
  if (templates_.empty() && general_values_.empty()) return instances;
  for_each_atom(op, [&](Atom& a) {
    copy_value(a);
    if (Instance* instance = instantiate_function(a, location)) instances.push_back(instance);
  });
  return instances;
}

// Names a new instance in the atom, if that is a function which is inferred at each use.
Instance* Inference::instantiate_function(Atom& atom, const SourceLocation& location) {
  Template* t = template_of(atom);
  if (!t || copied_operations_ > max_copied_operations) return nullptr;
  copied_operations_ += t->operations;
  if (copied_operations_ > max_copied_operations) {
    fail(DiagnosticId::too_large, location,
         fmt::format("the instances of functions without types have more than {} operations", max_copied_operations),
         {}, "annotate parameters: fn (%x: Tensor[(2, 3), float32]) { ... }");
    return nullptr;
  }
  Instance* instance = t->instances.emplace_back(new Instance{t, atom, nullptr, {}, scope_, 0, location}).get();
  instance->scope = scopes_.open(scope_);
  const Var* var = std::get_if<Var>(&t->name);
  if (var) {
    instance->name = module_.fresh((*var)->name);
    if (const auto around = fixed_around_.find((*var)->id); around != fixed_around_.end())
      fixed_around_[std::get<Var>(instance->name)->id] = std::set(around->second);
    instance->local = copy_of_text(t->text, t->name, instance->name);
    instance->function = &*instance->local;
  } else {  // "#" is in no name of a text
    const std::string name = fmt::format("{}#{}", std::get<GlobalRef>(t->name).name, t->instances.size());
    instance->name = GlobalRef{name};
    instance->function = &module_.functions.emplace(name, copy_of_text(t->text, t->name, instance->name)).first->second;
  }
  Function& f = *instance->function;
  declare(f, var != nullptr);
  kinds_.erase(&f);
  std::vector<Type> params;
  for (const Var& p : f.params) params.push_back(p->type);
  const Type type = function_type(std::move(params), f.result_type, f.type_params);
  if (var)
    std::get<Var>(instance->name)->type = type;
  else
    signatures_[std::get<GlobalRef>(instance->name).name] = type;
  atom = instance->name;
  return instance;
}

int Inference::open_param(const Instance& instance) const {
  for (const Var& p : instance.function->params) {
    const Type type = unifier_.shallow(p->type);
    if (as<HoleType>(type) || as<OpenTensorType>(type)) return hole_in(type);
  }
  return 0;
}

// The type of the instance, as far as it is known. Null for a type beyond the limits.
Type Inference::type_of(const Instance& instance) const {
  const Function& f = *instance.function;
  std::vector<Type> params;
  for (const Var& p : f.params) params.push_back(p->type);
  return unifier_.resolve(function_type(std::move(params), f.result_type, f.type_params));
}

// Whether the type of the instance has type variables of the functions around its use: it must stand there.
bool Inference::is_bound_at_use(const Instance& instance) const {
  const Type type = type_of(instance);
  return type && escapes(type, instance.of->type_variables);
}

// The types of an instance's parameters; none if one is incomplete.
std::optional<std::vector<Type>> Inference::params_of(const Instance& instance) const {
  std::vector<Type> types;
  for (const Var& p : instance.function->params)
    if (is_incomplete(types.emplace_back(unifier_.resolve(p->type)))) return std::nullopt;
  return types;
}

static std::string key_of(const std::vector<Type>& params) { return relay::str(tuple_type(params)); }

// An earlier instance with parameters of the same types.
bool Inference::reuse(Instance& instance) {
  const auto own = params_of(instance);
  if (!own || is_bound_at_use(instance)) return false;
  for (Instance* other : instance.of->inferred[key_of(*own)]) {
    const bool is_equal = std::ranges::equal(*own, *params_of(*other), same_type);
    if (!is_equal || other->same_as || has_holes(*other->function)) continue;
    if (!unifier_.unify(other->function->result_type, instance.function->result_type)) continue;
    tell_result_of_value(instance, other->name);
    instance.same_as = other;
    scopes_.add_parent(other->scope, instance.use_scope);
    return true;
  }
  return false;
}

// Whether the call that has the instance as an argument tells the type of its result, or a parameter has the same type.
bool Inference::is_result_told(const Instance& instance) const {
  const HoleType* hole = as<HoleType>(unifier_.shallow(instance.result_of_value));
  return !hole || std::ranges::any_of(instance.function->params, [&](const Var& p) {
    const Type type = unifier_.resolve(p->type);
    return !type ||
           any_leaf(type, &TypeNode::has_holes, [&](const Type& leaf) { return as<HoleType>(leaf)->id == hole->id; });
  });
}

// Gives the call that has the instance as an argument the type of its result, where sizes that the function defines are
// unknown. `name` is that of the instance or of an equal one.
void Inference::tell_result_of_value(const Instance& instance, const Atom& name) {
  if (!instance.result_of_value) return;
  std::vector<Type> params;
  for (const Var& p : instance.function->params) params.push_back(p->type);
  const Type type = type_of_value(name, function_type(std::move(params), instance.function->result_type));
  unifier_.unify(instance.result_of_value, as<FunctionType>(type)->result);
}

// Infers the instance once the operation that uses it gave its parameters types. While a parameter's type is not known
// at all, the use waits like a type relation: the types of the result may depend on it. But a size with a name is bound
// by the call, which needs the type of the result.
void Inference::settle(Instance& instance) {
  if (std::exchange(instance.is_settled, true) || reuse(instance)) return;
  bool names_sizes = false;
  for (const Var& p : instance.function->params) for_each_symbol(p->type, [&](const Symbol&) { names_sizes = true; });
  if (names_sizes) return infer_instance(instance);
  relate(
      [this, &instance] {
        if (instance.is_inferred || instance.same_as) return 0;
        const int hole = open_param(instance);
        if (hole == 0 && !reuse(instance)) infer_instance(instance);
        return hole;
      },
      instance.use, "the function that is called", &instance);
}

void Inference::infer_instance(Instance& instance) {
  instance.is_inferred = true;
  std::vector<Binding>* out = out_;
  std::set<std::string> symbols = symbols_, result_names = result_names_, closure_symbols = closure_symbols_,
                        value_symbols = value_symbols_, fixed_symbols = fixed_symbols_;
  std::set<std::string> unbound_symbols = unbound_symbols_;
  std::map<std::string, Dim> known_names = known_names_;
  const std::set<int> type_variables = std::exchange(type_variables_, instance.of->type_variables);
  const int outer_scope = std::exchange(scope_, instance.scope);
  std::vector<Instance*> calling;
  std::swap(calling, calling_);
  uses_.push_back(instance.use);
  Function& f = *instance.function;
  if (instance.result_of_value && is_result_told(instance)) {
    unifier_.unify(f.result_type, instance.result_of_value);
    instance.result_of_value = nullptr;
  }
  for (const Var& p : f.params) {
    if (Type known = unifier_.resolve(p->type)) p->type = known;
    enter_symbols(p->type);
  }
  if (const GlobalRef* g = std::get_if<GlobalRef>(&instance.name)) {
    const std::string outer = std::exchange(global_, g->name);
    infer_function(f);
    global_ = outer;
    signatures_[g->name] = relay::type_of(module_, *g);
    check_early_calls(*g, f, instance.use);
  } else {
    infer_body(f, f.result_type, symbols_, instance.use);
    note_defined_sizes(std::get<Var>(instance.name), f, symbols);
  }
  tell_result_of_value(instance, instance.name);
  if (const auto params = params_of(instance)) instance.of->inferred[key_of(*params)].push_back(&instance);
  uses_.pop_back();
  std::swap(calling, calling_);
  scope_ = outer_scope;
  out_ = out;
  symbols_ = std::move(symbols);
  result_names_ = std::move(result_names);
  closure_symbols_ = std::move(closure_symbols);
  value_symbols_ = std::move(value_symbols);
  fixed_symbols_ = std::move(fixed_symbols);
  unbound_symbols_ = std::move(unbound_symbols);
  known_names_ = std::move(known_names);
  type_variables_ = type_variables;
}

// ---- the end --------------------------------------------------------------------------------------------------------

// A function that has a use is replaced by its instances, and the relations of its first inference need no solution.
// Templates are visited from the last to the first, because a template is used in later ones or outside of templates.
void Inference::drop_unused() {
  for (auto t = templates_.rbegin(); t != templates_.rend(); ++t) {
    Template& function = **t;
    const bool is_used = std::ranges::any_of(
        function.instances, [&](const auto& instance) { return scopes_.is_live(instance->use_scope); });
    if (function.is_replaced || !(is_used || function.declared)) continue;
    function.is_replaced = true;
    scopes_.drop(function.scope);
  }
  drop_general_values();
}

// Infers instances although the type of a parameter is not known: nothing else tells it.
void Inference::infer_waiting_instances() {
  drop_unused();
  for (size_t k = 0; k < relations_.size(); ++k) {
    Instance* instance = relations_[k].instance;
    if (!instance || relations_[k].decided || !scopes_.is_live(relations_[k].scope)) continue;
    relations_[k].decided = true;
    const auto before = std::pair(templates_.size(), copied_operations_);
    if (!instance->is_inferred && !instance->same_as) infer_instance(*instance);
    retry_relations();
    if (before != std::pair(templates_.size(), copied_operations_)) drop_unused();
  }
}

// The instances that remain where the function stands, each of another type.
std::vector<Instance*> Inference::remaining(Template& t) {
  std::vector<Instance*> remaining;
  std::map<std::string, std::vector<Instance*>> by_text;  // of the type
  for (const auto& instance : t.instances) {
    if (instance->same_as || !scopes_.is_live(instance->scope) || is_bound_at_use(*instance)) continue;
    const Type type = type_of(*instance);
    std::vector<Instance*>& alike = by_text[relay::str(type)];
    auto equal = std::ranges::find_if(alike, [&](Instance* i) { return same_type(type_of(*i), type); });
    if (equal == alike.end())
      remaining.push_back(alike.emplace_back(instance.get()));
    else
      instance->same_as = *equal;
  }
  return remaining;
}

void Inference::replace_templates() {
  InstanceReplacements all;
  for (const auto& t : templates_) {
    if (!t->is_replaced) continue;
    for (const auto& i : t->instances)
      if (!i->same_as && scopes_.is_live(i->scope) && is_bound_at_use(*i)) bind_at_use(*i, all);
    if (const Var* v = std::get_if<Var>(&t->name)) {
      all.functions.emplace((*v)->id, remaining(*t));
      for (const auto& i : t->instances)
        all.variables.emplace(std::get<Var>(i->name)->id, std::get<Var>(in_place_of(*i).name));
    } else {
      replace_global(*t, all);
    }
  }
  if (all.functions.empty() && all.globals.empty() && all.globals_at_use.empty()) return;
  for (auto& [name, function] : module_.functions) {
    replace(function.body, all);
    rename_globals(function.body, all.globals);
  }
}

// An instance of a global function becomes a local function.
void Inference::bind_at_use(Instance& instance, InstanceReplacements& all) {
  if (const GlobalRef* g = std::get_if<GlobalRef>(&instance.name)) {
    all.globals_at_use.emplace(g->name, &instance);
    instance.local = std::move(module_.functions.extract(g->name).mapped());
    instance.function = &*instance.local;
    instance.name = module_.fresh(std::get<GlobalRef>(instance.of->name).name, type_of(instance));
  }
  all.variables_at_use.emplace(std::get<Var>(instance.name)->id, &instance);
}

// The first instance gets the function's name.
void Inference::replace_global(Template& t, InstanceReplacements& all) {
  const std::string& name = std::get<GlobalRef>(t.name).name;
  module_.functions.erase(name);
  std::map<const Instance*, std::string> names_of_kept;
  for (const Instance* instance : remaining(t)) {
    const std::string own = unused_name(name, module_.functions);
    auto function = module_.functions.extract(std::get<GlobalRef>(instance->name).name);
    function.key() = own;
    module_.functions.insert(std::move(function));
    names_of_kept.emplace(instance, own);
  }
  for (const auto& instance : t.instances) {
    const GlobalRef* from = std::get_if<GlobalRef>(&instance->name);
    if (!from) continue;  // it is bound at its use
    module_.functions.erase(from->name);
    if (auto kept = names_of_kept.find(&in_place_of(*instance)); kept != names_of_kept.end())
      all.globals.emplace(from->name, kept->second);
  }
}

}  // namespace dlcc::relay
