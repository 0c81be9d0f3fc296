// Removes data that nothing reads: constructors that are never applied, with the arms for them; fields that no pattern
// looks at; and data types that no function names.
//
//   type Shape { Circle(float32, int32), Square(float32) }     →     type Shape { Circle(float32) }
//
// where Square is never applied, and each pattern for Circle has a wildcard or an unused variable for its second field.
// A variable is used, too, where the function names a size of its type.
//
// Contract: globals and constructors are eta-expanded first. What the caller of @main gives, and gets as a result,
// keeps its form: the types in the signature of @main, and the types of their fields. A module without @main is a
// library, in which every function may be called and nothing is removed. The operations whose values were in a removed
// field stay; eliminate-dead-code removes them.
#include <algorithm>
#include <set>

#include "relay/passes/passes.h"
#include "relay/passes/replace.h"
#include "relay/passes/retype.h"
#include "relay/types_in.h"

namespace dlcc::relay {

namespace {

// Calls `visit` for the name of each data type in the type.
void for_each_data_type(const Type& type, const std::function<void(const std::string&)>& visit) {
  auto all = [&](const std::vector<Type>& list) {
    for (const Type& t : list) for_each_data_type(t, visit);
  };
  if (const TupleType* t = as<TupleType>(type)) all(t->fields);
  if (const RefType* t = as<RefType>(type)) for_each_data_type(t->value, visit);
  if (const FunctionType* t = as<FunctionType>(type)) {
    all(t->params);
    for_each_data_type(t->result, visit);
  }
  if (const DataType* t = as<DataType>(type)) {
    visit(t->name);
    all(t->args);
  }
}

class DataEliminator {
 public:
  explicit DataEliminator(Module& module) : module_(module) {}

  // One round: what is removed may be the last to read or make other data. False when there was nothing to remove.
  bool run() {
    find_uses();
    if (!plan()) return false;
    for (auto& [name, f] : module_.functions) remove_in(f.body);
    for (auto& [name, def] : module_.data_types) remove_in(def);
    return true;
  }

  void remove_unnamed_types() {
    std::set<std::string> named;
    std::function<void(const std::string&)> name = [&](const std::string& type) {
      if (!named.insert(type).second) return;
      for (const ConstructorDef& c : module_.data_types.at(type).constructors)
        for (const Type& field : c.fields) for_each_data_type(field, name);
    };
    for (auto& [key, f] : module_.functions) for_each_type(f, [&](Type& type) { for_each_data_type(type, name); });
    std::erase_if(module_.data_types, [&](const auto& entry) { return !named.contains(entry.first); });
  }

 private:
  struct Constructor {
    bool is_applied = false;
    std::vector<bool> is_read;  // by field
  };

  void find_uses() {
    constructors_.clear();
    for (const auto& [name, def] : module_.data_types)
      for (const ConstructorDef& c : def.constructors) constructors_[c.name].is_read.resize(c.fields.size());
    const Function& main = module_.functions.at("main");
    for (const Var& p : main.params) keep(p->type);
    keep(main.result_type);
    kept_.clear();
    for (auto& [name, f] : module_.functions) {
      uses_ = Uses(f.body);
      size_uses_.clear();
      auto use = [&](const Symbol& s) { ++size_uses_[s.name]; };
      for_each_type(f, [&](Type& type) { for_each_symbol(type, use); });
      for_each_dim(f.body, [&](const Dim& d) { std::ranges::for_each(d.symbols(), use); });
      find_uses(f.body);
    }
  }

  // Keeps everything of the types in a type that the caller sees.
  void keep(const Type& type) {
    for_each_data_type(type, [&](const std::string& name) {
      if (!kept_.insert(name).second) return;
      for (const ConstructorDef& c : module_.data_types.at(name).constructors) {
        Constructor& all = constructors_.at(c.name);
        all.is_applied = true;
        all.is_read.assign(all.is_read.size(), true);
        for (const Type& field : c.fields) keep(field);
      }
    });
  }

  void find_uses(const Block& block) {
    for (const Binding& b : block.bindings) {
      for_each_atom(b.op, [&](const Atom& a) {
        if (const ConstructorRef* c = std::get_if<ConstructorRef>(&a)) constructors_.at(c->name).is_applied = true;
      });
      if (const Match* match = std::get_if<Match>(&b.op))
        for (const Clause& c : match->clauses) read(c.pattern);
      for_each_block(b.op, [&](const Block& inner) { find_uses(inner); });
    }
  }

  bool is_looked_at(const Pattern& p) const {
    const auto* bind = std::get_if<Pattern::Bind>(&p.v);
    if (!bind) return !std::holds_alternative<Pattern::Wildcard>(p.v);
    bool is_used = uses_[bind->var] > 0;
    for_each_symbol(bind->var->type, [&](const Symbol& s) { is_used |= size_uses_.at(s.name) > 1; });
    return is_used;
  }

  void read(const Pattern& p) {
    if (const auto* tuple = std::get_if<Pattern::Tuple>(&p.v))
      for (const Pattern& field : tuple->fields) read(field);
    const auto* c = std::get_if<Pattern::Constructor>(&p.v);
    if (!c) return;
    for (size_t k = 0; k < c->fields.size(); ++k) {
      if (is_looked_at(c->fields[k])) constructors_.at(c->name).is_read[k] = true;
      read(c->fields[k]);
    }
  }

  // Decides what goes. A match keeps an arm: where no value can come, its first arm stays, with its constructors.
  bool plan() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [name, f] : module_.functions) keep_an_arm(f.body, changed);
    }
    return std::ranges::any_of(constructors_, [](const auto& c) {
      return !c.second.is_applied || std::ranges::find(c.second.is_read, false) != c.second.is_read.end();
    });
  }

  void keep_an_arm(const Block& block, bool& changed) {
    for (const Binding& b : block.bindings) {
      const Match* match = std::get_if<Match>(&b.op);
      if (match && std::ranges::none_of(match->clauses, [&](const Clause& c) { return can_fit(c.pattern); })) {
        apply_all(match->clauses.front().pattern);
        changed = true;
      }
      for_each_block(b.op, [&](const Block& inner) { keep_an_arm(inner, changed); });
    }
  }

  bool can_fit(const Pattern& p) const {
    auto all = [&](const std::vector<Pattern>& list) {
      return std::ranges::all_of(list, [&](const Pattern& field) { return can_fit(field); });
    };
    if (const auto* tuple = std::get_if<Pattern::Tuple>(&p.v)) return all(tuple->fields);
    const auto* c = std::get_if<Pattern::Constructor>(&p.v);
    return !c || (constructors_.at(c->name).is_applied && all(c->fields));
  }

  void apply_all(const Pattern& p) {
    if (const auto* tuple = std::get_if<Pattern::Tuple>(&p.v))
      std::ranges::for_each(tuple->fields, [&](const Pattern& f) { apply_all(f); });
    const auto* c = std::get_if<Pattern::Constructor>(&p.v);
    if (!c) return;
    constructors_.at(c->name).is_applied = true;
    std::ranges::for_each(c->fields, [&](const Pattern& f) { apply_all(f); });
  }

  // ---- removing

  template <class T>
  void keep_read(std::vector<T>& fields, const std::string& constructor) const {
    const std::vector<bool>& is_read = constructors_.at(constructor).is_read;
    std::vector<T> kept;
    for (size_t k = 0; k < fields.size(); ++k)
      if (is_read[k]) kept.push_back(std::move(fields[k]));
    fields = std::move(kept);
  }

  void remove_in(Block& block) {
    for (Binding& b : block.bindings) {
      if (Call* call = std::get_if<Call>(&b.op))
        if (const ConstructorRef* c = std::get_if<ConstructorRef>(&call->callee)) keep_read(call->args, c->name);
      if (Match* match = std::get_if<Match>(&b.op)) {
        std::erase_if(match->clauses, [&](const Clause& c) { return !can_fit(c.pattern); });
        for (Clause& c : match->clauses) remove_in(c.pattern);
      }
      for_each_block(b.op, [&](Block& inner) { remove_in(inner); });
    }
  }

  void remove_in(Pattern& p) {
    if (auto* tuple = std::get_if<Pattern::Tuple>(&p.v))
      for (Pattern& field : tuple->fields) remove_in(field);
    auto* c = std::get_if<Pattern::Constructor>(&p.v);
    if (!c) return;
    keep_read(c->fields, c->name);
    for (Pattern& field : c->fields) remove_in(field);
  }

  void remove_in(DataTypeDef& def) {
    std::erase_if(def.constructors, [&](const ConstructorDef& c) { return !constructors_.at(c.name).is_applied; });
    for (ConstructorDef& c : def.constructors) keep_read(c.fields, c.name);
  }

  Module& module_;
  std::map<std::string, Constructor> constructors_;
  std::set<std::string> kept_;
  Uses uses_;                             // of the variables of one function
  std::map<std::string, int> size_uses_;  // of symbols, in types and elsewhere
};

}  // namespace

Module eliminate_dead_data(Module module, PassContext& context) {
  if (!module.functions.contains("main")) return module;
  module = eta_expand(std::move(module), context);
  DataEliminator eliminator(module);
  while (eliminator.run()) continue;
  eliminator.remove_unnamed_types();
  infer_again(module, context);
  return module;
}

}  // namespace dlcc::relay
