// Computes equal operations once. Two operations are equal when they have the same callee, attributes and operands; the
// first one's variable replaces those of later ones in its scope. Tuples with equal fields are equal operands, but a
// nested block keeps its own tuple: a variadic operator is compiled together with the tuple in its block.
#include "relay/effects.h"
#include "relay/operator.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"

namespace dlcc::relay {

namespace {

class Merger {
 public:
  explicit Merger(EffectAnalysis& effects) : effects_(effects) {}

  void run(Block& block) {
    ++depth_;
    std::vector<std::string> seen_here;
    std::vector<Binding> kept;
    kept.reserve(block.bindings.size());
    for (Binding& b : block.bindings) {
      known_.apply(b.op);
      for_each_block(b.op, [&](Block& inner) { run(inner); });
      std::string key = key_of(b.op);
      if (std::holds_alternative<MakeTuple>(b.op)) {
        tuples_[b.var->id] = key;
        key = fmt::format("{} {}", depth_, key);
      }
      if (!key.empty()) {
        auto [it, added] = seen_.emplace(key, b.var);
        if (!added && same_type(it->second->type, b.var->type)) {
          known_.add(b.var, it->second);
          continue;
        }
        if (added) seen_here.push_back(std::move(key));
      }
      kept.push_back(std::move(b));
    }
    known_.apply(block.result);
    for (const std::string& key : seen_here) seen_.erase(key);
    block.bindings = std::move(kept);
    --depth_;
  }

 private:
  std::string key_of(const Atom& atom) {
    return std::visit(overloaded{[&](const Var& v) {
                                   auto tuple = tuples_.find(v->id);
                                   return tuple == tuples_.end() ? fmt::format("%{}", v->id) : tuple->second;
                                 },
                                 [&](const Constant& c) { return fmt::format("#{}", number_of(c)); },
                                 [](const GlobalRef& g) { return "@" + g.name; },
                                 [](const ConstructorRef& c) { return "'" + c.name; },
                                 [](const OperatorRef& o) { return o.op->name; }},
                      atom);
  }

  std::string key_of(const std::vector<Atom>& atoms) {
    std::string key;
    for (const Atom& a : atoms) key += key_of(a) + ",";
    return key;
  }

  // Empty when the operation may not be merged with an equal one.
  std::string key_of(const Operation& op) {
    if (const MakeTuple* o = std::get_if<MakeTuple>(&op)) return "(" + key_of(o->fields) + ")";
    if (const Project* o = std::get_if<Project>(&op)) return fmt::format("{}.{}", key_of(o->tuple), o->index);
    if (const MatchCast* o = std::get_if<MatchCast>(&op)) return "cast " + key_of(o->value) + str(o->type);
    if (const CallTensor* o = std::get_if<CallTensor>(&op)) {
      std::string key = "tensor @" + o->function + "(" + key_of(o->args);
      for (const tensor::Layout& l : o->layouts) key += tensor::str(l);
      return key;
    }
    const Call* call = std::get_if<Call>(&op);
    if (!call || std::holds_alternative<Var>(call->callee) || !effects_.of(op).mergeable()) return "";
    std::string key = key_of(call->callee) + "(" + key_of(call->args);
    for (const auto& [name, value] : attributes_of(*call)) key += name + "=" + str(value) + ",";
    return key;
  }

  // Those of an operator in the form in which equal ones are equal.
  static Attrs attributes_of(const Call& call) {
    const OperatorRef* ref = std::get_if<OperatorRef>(&call.callee);
    return ref ? ref->op->canonical(call.attrs, call.args.size() > ref->op->arguments.size()) : call.attrs;
  }

  // Equal constants have equal numbers.
  size_t number_of(const Constant& c) {
    std::vector<size_t>& candidates = by_hash_[c.hash()];
    for (size_t i : candidates)
      if (constants_[i].same_as(c)) return i;
    candidates.push_back(constants_.size());
    constants_.push_back(c);
    return constants_.size() - 1;
  }

  EffectAnalysis& effects_;
  std::map<std::string, Var> seen_;
  std::map<int, std::string> tuples_;  // their keys, by variable
  int depth_ = 0;                      // of the block
  Replacements known_;
  std::vector<Constant> constants_;
  std::map<uint64_t, std::vector<size_t>> by_hash_;
};

}  // namespace

Module eliminate_common_subexpressions(Module module, PassContext&) {
  EffectAnalysis effects(module);
  for (auto& [name, f] : module.functions) Merger(effects).run(f.body);
  return module;
}

}  // namespace dlcc::relay
