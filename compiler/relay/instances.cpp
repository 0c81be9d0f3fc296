// Finds the local functions that may be needed at several types, and replaces functions by their instances.
#include "relay/instances.h"

#include <utility>

namespace dlcc::relay {

namespace {

// Counts the uses of local functions, apart from those in the functions themselves.
struct SharedFunctions {
  struct Binder {
    int function;  // in which the variable is bound
    int uses = 0;
  };
  std::map<int, Binder> binders;
  std::set<int> within, shared;
  int functions = 0;

  void use(const Atom& a, int function) {
    const Var* v = std::get_if<Var>(&a);
    auto it = v ? binders.find((*v)->id) : binders.end();
    if (it == binders.end() || within.contains((*v)->id)) return;
    if (++it->second.uses > 1 || it->second.function != function) shared.insert((*v)->id);
  }

  void visit(const Block& block, int function) {
    for (const Binding& b : block.bindings) {
      for_each_atom(b.op, [&](const Atom& a) { use(a, function); });
      const MakeFunction* made = std::get_if<MakeFunction>(&b.op);
      if (made) {
        binders.emplace(b.var->id, Binder{function});
        within.insert(b.var->id);
        visit(made->function->body, ++functions);
        within.erase(b.var->id);
      } else {
        for_each_block(b.op, [&](const Block& inner) { visit(inner, function); });
      }
    }
    use(block.result, function);
  }
};

}  // namespace

bool names_same(const Atom& a, const Atom& b) {
  const Var *x = std::get_if<Var>(&a), *y = std::get_if<Var>(&b);
  if (x && y) return (*x)->id == (*y)->id;
  const GlobalRef *f = std::get_if<GlobalRef>(&a), *g = std::get_if<GlobalRef>(&b);
  return f && g && f->name == g->name;
}

std::set<int> repeatedly_used_functions(const Function& function) {
  SharedFunctions found;
  found.visit(function.body, 0);
  return std::move(found.shared);
}

bool Scopes::is_live(int scope) const {
  std::set<int> seen;
  std::vector<int> next = {scope};
  while (!next.empty()) {
    const int s = next.back();
    next.pop_back();
    if (s == 0) return true;
    if (!dropped_.contains(s) && seen.insert(s).second)
      next.insert(next.end(), parents_[static_cast<size_t>(s)].begin(), parents_[static_cast<size_t>(s)].end());
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

static void replace(Binding& b, const InstanceReplacements& all) {
  for_each_atom(b.op, [&](Atom& a) {
    const Var* v = std::get_if<Var>(&a);
    if (auto it = v ? all.variables.find((*v)->id) : all.variables.end(); it != all.variables.end()) a = it->second;
  });
  for_each_block(b.op, [&](Block& inner) { replace(inner, all); });
}

void replace(Block& block, const InstanceReplacements& all) {
  std::vector<Binding> bindings = std::exchange(block.bindings, {});
  for (Binding& b : bindings) {
    auto instances = all.functions.find(b.var->id);
    if (instances == all.functions.end()) {
      replace(b, all);
      block.bindings.push_back(std::move(b));
      continue;
    }
    for (Instance* i : instances->second) {
      Binding made{std::get<Var>(i->name), MakeFunction{std::move(i->local)}, b.location};
      replace(made, all);
      block.bindings.push_back(std::move(made));
    }
  }
  const Var* v = std::get_if<Var>(&block.result);
  if (auto it = v ? all.variables.find((*v)->id) : all.variables.end(); it != all.variables.end())
    block.result = it->second;
}

}  // namespace dlcc::relay
