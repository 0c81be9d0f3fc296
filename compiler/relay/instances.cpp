// Finds the local values that may be needed at several types, and replaces functions by their instances.
#include "relay/instances.h"

#include <ranges>
#include <utility>

#include "relay/general_values.h"

namespace dlcc::relay {

namespace {

// Finds the values that may be needed at several types, and functions that are needed at none. A use of a function in
// itself does not count.
struct SharedValues {
  struct Binder {
    int function;  // in which the variable is bound
    bool is_function;
    int uses = 0;
  };
  std::map<int, Binder> binders;
  std::set<int> within, shared;
  std::set<int>
      named;  // other names of values, and tuples of which a field is taken: often no use has their whole type
  std::vector<const Binding*> values;  // in the order of the text, so that a value is behind its parts
  int functions = 0;

  void use(const Atom& a, int function) {
    const Var* v = std::get_if<Var>(&a);
    auto it = v ? binders.find((*v)->id) : binders.end();
    if (it == binders.end() || within.contains((*v)->id)) return;
    if (++it->second.uses > 1 || it->second.function != function) shared.insert((*v)->id);
  }

  void see_value(const Binding& b, int function) {
    const Project* project = std::get_if<Project>(&b.op);
    if (const Var* tuple = project ? std::get_if<Var>(&project->tuple) : nullptr) name(*tuple);
    const bool is_known = b.var->type && !b.var->type->has_holes;
    if (is_known || !(is_syntactic_value(b.op) || project)) return;
    binders.emplace(b.var->id, Binder{function, false});
    values.push_back(&b);
    if (project || std::holds_alternative<Alias>(b.op)) named.insert(b.var->id);
  }

  void name(const Var& v) {
    auto it = binders.find(v->id);
    if (it != binders.end() && !it->second.is_function) named.insert(v->id);
  }

  void visit(const Block& block, int function) {
    for (const Binding& b : block.bindings) {
      for_each_atom(b.op, [&](const Atom& a) { use(a, function); });
      if (const MakeFunction* made = std::get_if<MakeFunction>(&b.op)) {
        binders.emplace(b.var->id, Binder{function, true});
        within.insert(b.var->id);
        visit(made->function->body, ++functions);
        within.erase(b.var->id);
      } else {
        see_value(b, function);
        for_each_block(b.op, [&](const Block& inner) { visit(inner, function); });
      }
    }
    use(block.result, function);
  }

  // No use tells the types of a function that has none.
  void share_unused_functions() {
    for (const auto& [id, binder] : binders)
      if (binder.is_function && binder.uses == 0) shared.insert(id);
  }

  // Each use of a value is one of its parts.
  void share_parts() {
    for (const Binding* b : values | std::views::reverse) {
      for_each_atom(b->op, [&](const Atom& a) {
        const Var* v = std::get_if<Var>(&a);
        if (!v || !binders.contains((*v)->id)) return;
        if (shared.contains(b->var->id)) shared.insert((*v)->id);
        if (named.contains(b->var->id)) name(*v);
      });
    }
  }
};

}  // namespace

bool names_same(const Atom& a, const Atom& b) {
  const Var *x = std::get_if<Var>(&a), *y = std::get_if<Var>(&b);
  if (x && y) return (*x)->id == (*y)->id;
  const GlobalRef *f = std::get_if<GlobalRef>(&a), *g = std::get_if<GlobalRef>(&b);
  return f && g && f->name == g->name;
}

std::set<int> repeatedly_used_values(const Function& function) {
  SharedValues found;
  found.visit(function.body, 0);
  found.share_unused_functions();
  found.share_parts();
  found.shared.merge(found.named);
  return std::move(found.shared);
}

static void add_called(const Block& block, std::set<int>& called) {
  for (const Binding& b : block.bindings) {
    const Call* call = std::get_if<Call>(&b.op);
    if (const Var* callee = call ? std::get_if<Var>(&call->callee) : nullptr) called.insert((*callee)->id);
    for_each_block(b.op, [&](const Block& inner) { add_called(inner, called); });
  }
}

std::set<int> called_variables(const Function& function) {
  std::set<int> called;
  add_called(function.body, called);
  return called;
}

// Whether a way through parents, without certain scopes, leads from one scope to the other one.
bool Scopes::reaches(int scope, int other, const std::vector<bool>& without) const {
  std::vector<bool> seen = without;
  std::vector<int> next = {scope};
  while (!next.empty()) {
    const auto s = static_cast<size_t>(next.back());
    next.pop_back();
    if (std::cmp_equal(s, other)) return true;
    if (!seen[s]) next.insert(next.end(), parents_[s].begin(), parents_[s].end());
    seen[s] = true;
  }
  return false;
}

void rename_globals(Block& block, const std::map<std::string, std::string>& names) {
  auto rename = [&](Atom& a) {
    if (GlobalRef* g = std::get_if<GlobalRef>(&a))
      if (auto it = names.find(g->name); it != names.end()) g->name = it->second;
  };
  for (Binding& b : block.bindings) {
    for_each_atom(b.op, rename);
    for_each_block(b.op, [&](Block& inner) { rename_globals(inner, names); });
  }
  rename(block.result);
}

namespace {

// Replaces the atoms of an operation; returns the instances among them that are bound before it.
std::vector<Instance*> replace_atoms(Operation& op, InstanceReplacements& all) {
  std::vector<Instance*> at_use;
  for_each_atom(op, [&](Atom& a) {
    if (const GlobalRef* g = std::get_if<GlobalRef>(&a))
      if (auto moved = all.globals_at_use.find(g->name); moved != all.globals_at_use.end()) a = moved->second->name;
    const Var* v = std::get_if<Var>(&a);
    if (!v) return;
    const auto moved = all.variables_at_use.extract((*v)->id);
    if (!moved.empty()) at_use.push_back(moved.mapped());
    if (auto it = all.variables.find((*v)->id); it != all.variables.end()) a = it->second;
  });
  return at_use;
}

// Appends a binding to a block, behind those of the instances that it uses.
void append(Binding b, Block& block, InstanceReplacements& all) {
  for (Instance* i : replace_atoms(b.op, all))
    append({std::get<Var>(i->name), MakeFunction{std::move(i->local)}, i->use}, block, all);
  for_each_block(b.op, [&](Block& inner) { replace(inner, all); });
  block.bindings.push_back(std::move(b));
}

}  // namespace

void replace(Block& block, InstanceReplacements& all) {
  std::vector<Binding> bindings = std::exchange(block.bindings, {});
  for (Binding& b : bindings) {
    auto instances = all.functions.find(b.var->id);
    if (instances == all.functions.end()) {
      append(std::move(b), block, all);
      continue;
    }
    for (Instance* i : instances->second)
      append({std::get<Var>(i->name), MakeFunction{std::move(i->local)}, b.location}, block, all);
  }
  Operation result = Alias{block.result};
  for (Instance* i : replace_atoms(result, all))
    append({std::get<Var>(i->name), MakeFunction{std::move(i->local)}, i->use}, block, all);
  block.result = std::get<Alias>(result).value;
}

}  // namespace dlcc::relay
