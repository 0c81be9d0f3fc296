// Let-polymorphism of data: `let %none = Nil; ...` has a type for each use of %none. A value is generalized if it is a
// syntactic value and its type has holes that are not those of variables which it uses. Each use has a copy of the
// value, as uses of functions have (instances.h), which is bound just before the operation that uses it. What has an
// effect, a reference for instance, is never copied.
#include <algorithm>

#include "relay/inference.h"

namespace dlcc::relay {

namespace {

constexpr int64_t max_copies = 1'000'000;  // of values of a module

void add_holes(const Type& type, std::set<int>& holes) {
  any_leaf(type, &TypeNode::has_holes, [&](const Type& leaf) {
    holes.insert(as<HoleType>(leaf)->id);
    return false;
  });
}

std::vector<Atom> atoms_of(const Operation& op) {
  std::vector<Atom> atoms;
  for_each_atom(op, [&](const Atom& a) { atoms.push_back(a); });
  return atoms;
}

// Gives each hole in a type the type that stands at its place in another type of the same value, if that has no hole
// and `may_use` holds for it.
void fill_holes(Unifier& unifier, const Type& type, const Type& other,
                const std::function<bool(const Type&)>& may_use) {
  if (as<HoleType>(type)) {
    if (may_use(other)) unifier.unify(type, other);
    return;
  }
  const std::vector<Type> parts = parts_of(type), others = parts_of(other);
  for (size_t k = 0; k < std::min(parts.size(), others.size()); ++k) fill_holes(unifier, parts[k], others[k], may_use);
}

}  // namespace

// A binding that may turn out to bind a general value is inferred in a scope of its own.
std::optional<GeneralValue> Inference::open_value(const Binding& binding) {
  if (!shared_.contains(binding.var->id) || !is_syntactic_value(binding.op)) return std::nullopt;
  GeneralValue value{binding.var, binding, scopes_.open(scope_), type_variables_};
  value.text.var = std::make_shared<VarNode>(*binding.var);
  return value;
}

// Whether the type of an inferred value has a hole of its own: of a constructor or of a copy that it uses.
bool Inference::is_general(const Binding& b, const Operation& text) const {
  const Type type = unifier_.resolve(b.var->type);
  if (!type) return false;
  std::set<int> holes, outer;
  add_holes(type, holes);
  if (holes.empty()) return false;
  const std::vector<Atom> before = atoms_of(text), after = atoms_of(b.op);
  for (size_t k = 0; k < before.size(); ++k)
    if (const Var* v = std::get_if<Var>(&after[k]); v && names_same(before[k], after[k]))
      if (const Type of_operand = unifier_.resolve((*v)->type)) add_holes(of_operand, outer);
  return !std::ranges::includes(outer, holes);
}

// A copy of another name is a copy of the value that it names, so that a chain of names needs no chain of copies.
void Inference::add_general_value(GeneralValue value) {
  const Alias* name = std::get_if<Alias>(&value.text.op);
  const Var* other = name ? std::get_if<Var>(&name->value) : nullptr;
  if (const auto named = other ? general_values_.find((*other)->id) : general_values_.end();
      named != general_values_.end())
    value.text.op = Operation(named->second.text.op);
  general_values_.emplace(value.var->id, std::move(value));
}

// Replaces the variable of a general value by that of a copy, which is bound before the current operation.
void Inference::copy_value(Atom& atom) {
  const Var* v = std::get_if<Var>(&atom);
  const auto value = v ? general_values_.find((*v)->id) : general_values_.end();
  if (value == general_values_.end()) return;
  if (static_cast<int64_t>(copies_of_values_.size()) >= max_copies) {
    value->second.is_used_uncopied = true;
    return;
  }
  Binding copy = value->second.text;
  copy.var = module_.fresh(copy.var->name, copy.var->type);
  copies_of_values_.emplace(copy.var->id, value->first);
  value->second.copies.push_back(copy.var);
  atom = copy.var;
  infer_binding(std::move(copy));
}

// A field of a general tuple needs no copy of the other fields.
void Inference::project_value(Operation& op) const {
  const Project* project = std::get_if<Project>(&op);
  if (!project) return;
  for (Atom tuple = project->tuple; std::holds_alternative<Var>(tuple);) {
    const auto value = general_values_.find(std::get<Var>(tuple)->id);
    if (value == general_values_.end()) return;
    const Operation& made = value->second.text.op;
    if (const MakeTuple* fields = std::get_if<MakeTuple>(&made)) {
      const auto index = static_cast<size_t>(project->index);
      if (project->index >= 0 && index < fields->fields.size()) op = Alias{Atom(fields->fields[index])};
      return;
    }
    const Alias* other = std::get_if<Alias>(&made);
    if (!other) return;
    tuple = other->value;
  }
}

// A copy whose type its use leaves open may have any type: %none in `@length(%none)`. It has that of another copy,
// which the value itself gets first.
void Inference::fill_holes_of_copies() {
  for (const auto& [id, value] : general_values_) {
    // Type variables of a local function in which only some uses are mean nothing elsewhere.
    auto may_use = [&](const Type& type) { return !is_incomplete(type) && !escapes(type, value.type_variables); };
    auto fill = [&](const Var& var, const Var& other) {
      const Type type = unifier_.resolve(var->type), known = unifier_.resolve(other->type);
      if (type && known && is_incomplete(type)) fill_holes(unifier_, type, known, may_use);
    };
    for (const Var& copy : value.copies) fill(value.var, copy);
    for (const Var& copy : value.copies) fill(copy, value.var);
  }
  if (!general_values_.empty()) retry_relations();
}

// The relations of the first inference of a value need no solution if all uses have copies.
void Inference::drop_general_values() {
  for (const auto& [id, value] : general_values_)
    if (!value.is_used_uncopied) scopes_.drop(value.scope);
}

void Inference::merge_copies() {
  if (general_values_.empty()) return;
  for (auto& [name, function] : module_.functions) {
    remove_unused(function.body,
                  [&](const Var& v) { return general_values_.contains(v->id) || copies_of_values_.contains(v->id); });
    merge_equal_copies(function.body, copies_of_values_, [&](const Type& type) { return unifier_.resolve(type); });
  }
}

}  // namespace dlcc::relay
