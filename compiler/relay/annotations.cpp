#include "relay/annotations.h"

#include <algorithm>
#include <set>

namespace dlcc::relay {

namespace {

// Whether the type has functions or an instance of a generic data type in it.
bool may_be_instance(const Type& type) {
  const TupleType* t = as<TupleType>(type);
  if (t) return std::ranges::any_of(t->fields, may_be_instance);
  if (const RefType* r = as<RefType>(type)) return may_be_instance(r->value);
  const DataType* data = as<DataType>(type);
  return as<FunctionType>(type) || (data && !data->args.empty());
}

void for_each_variable_of(const Type& type, const std::function<void(int)>& visit) {
  map_leaves(type, &TypeNode::has_variables, [&](const Type& leaf) {
    visit(as<VariableType>(leaf)->variable.id);
    return leaf;
  });
}

bool fields_tell_type(const DataTypeDef& def, const ConstructorDef& c) {
  std::set<int> told;
  for (const Type& field : c.fields) for_each_variable_of(field, [&](int id) { told.insert(id); });
  return std::ranges::all_of(def.params, [&](const TypeVariable& v) { return told.contains(v.id); });
}

bool has_blocks(const Binding& b) { return std::holds_alternative<If>(b.op) || std::holds_alternative<Match>(b.op); }

}  // namespace

Annotations::Annotations(const Module* module) : module_(module) {
  if (!module) return;
  for (const auto& [name, def] : module->data_types)
    for (const ConstructorDef& c : def.constructors)
      if (!def.params.empty()) generic_constructors_[c.name] = fields_tell_type(def, c);
}

bool Annotations::are_needed(const Binding& b) const {
  return has_symbols(b.var->type) || (b.var->type && !operands_tell_type(b));
}

bool Annotations::defines_unknown_size(const Binding& b) {
  bool defines = false;
  if (has_blocks(b))
    for_each_symbol(b.var->type, [&](const Symbol& s) { defines |= s.name.size() > 1 && s.name[0] == '?'; });
  return defines;
}

// Whether the types of the operands tell that of the result: they do not for an empty list, a generic function as a
// value, or a block that ends in one.
bool Annotations::operands_tell_type(const Binding& b) const {
  if (has_blocks(b)) return !may_be_instance(b.var->type);
  bool callee = std::holds_alternative<Call>(b.op), known = true;
  for_each_atom(b.op, [&](const Atom& a) {
    known &= callee ? params_tell_result(a) : !is_generic(a);
    callee = false;
  });
  return known;
}

bool Annotations::is_generic(const Atom& a) const {
  if (const ConstructorRef* c = std::get_if<ConstructorRef>(&a)) return generic_constructors_.contains(c->name);
  const GlobalRef* g = std::get_if<GlobalRef>(&a);
  if (!g || !module_) return false;
  auto it = module_->functions.find(g->name);
  return it != module_->functions.end() && !it->second.type_params.empty();
}

// Whether the types of a callee's parameters have all variables that its result has.
bool Annotations::params_tell_result(const Atom& callee) const {
  if (const ConstructorRef* c = std::get_if<ConstructorRef>(&callee)) {
    auto it = generic_constructors_.find(c->name);
    return it == generic_constructors_.end() || it->second;
  }
  const Var* var = std::get_if<Var>(&callee);
  const Type type = var ? (*var)->type : is_generic(callee) ? type_of(*module_, callee) : nullptr;
  const FunctionType* f = as<FunctionType>(type);
  if (!f) return true;
  std::set<int> told;
  for (const Type& p : f->params) for_each_variable_of(p, [&](int id) { told.insert(id); });
  bool all = true;
  for_each_variable_of(f->result, [&](int id) {
    all &= told.contains(id) || std::ranges::find(f->type_params, id, &TypeVariable::id) == f->type_params.end();
  });
  return all;
}

}  // namespace dlcc::relay
