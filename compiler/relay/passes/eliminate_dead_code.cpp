// Removes operations whose values nobody uses, where their effects allow it, and then the functions that nobody calls.
// Blocks are walked backward, so that what only dead operations use is dead, too.
#include <algorithm>
#include <set>

#include "relay/passes/passes.h"
#include "relay/passes/replace.h"

namespace dlcc::relay {

namespace {

class Eliminator {
 public:
  explicit Eliminator(const Module& module) : module_(module) {}

  void run(Block& body) {
    uses_ = Uses(body);
    prune(body);
  }

 private:
  void prune(Block& block) {
    std::vector<Binding> live;
    live.reserve(block.bindings.size());
    for (auto b = block.bindings.rbegin(); b != block.bindings.rend(); ++b) {
      if (is_dead(*b)) {
        uses_.add(b->op, -1);
        continue;
      }
      for_each_block(b->op, [&](Block& inner) { prune(inner); });
      live.push_back(std::move(*b));
    }
    std::ranges::reverse(live);
    block.bindings = std::move(live);
  }

  // A function that only itself uses is dead.
  bool is_dead(const Binding& b) const {
    int uses = uses_[b.var];
    if (const MakeFunction* closure = std::get_if<MakeFunction>(&b.op); closure && uses > 0)
      uses -= Uses(closure->function->body)[b.var];
    return uses == 0 && effects_of(module_, b.op).removable();
  }

  const Module& module_;
  Uses uses_;
};

void collect(const Block& block, std::vector<std::string>& functions, std::set<std::string>& tensor_functions) {
  auto atom = [&](const Atom& a) {
    if (const GlobalRef* g = std::get_if<GlobalRef>(&a)) functions.push_back(g->name);
  };
  for (const Binding& b : block.bindings) {
    for_each_atom(b.op, atom);
    for_each_block(b.op, [&](const Block& inner) { collect(inner, functions, tensor_functions); });
    if (const CallTensor* call = std::get_if<CallTensor>(&b.op)) tensor_functions.insert(call->function);
  }
  atom(block.result);
}

// Keeps what @main reaches; a module without @main is a library and keeps its functions.
void remove_unreachable(Module& module) {
  std::vector<std::string> pending;
  for (const auto& [name, f] : module.functions)
    if (name == "main" || !module.functions.contains("main")) pending.push_back(name);
  std::set<std::string> reached, tensor_functions;
  while (!pending.empty()) {
    std::string name = std::move(pending.back());
    pending.pop_back();
    if (reached.insert(name).second) collect(module.functions.at(name).body, pending, tensor_functions);
  }
  std::erase_if(module.functions, [&](const auto& entry) { return !reached.contains(entry.first); });
  std::erase_if(module.tensor_functions, [&](const auto& entry) { return !tensor_functions.contains(entry.first); });
}

}  // namespace

Module eliminate_dead_code(Module module, PassContext&) {
  for (auto& [name, f] : module.functions) Eliminator(module).run(f.body);
  remove_unreachable(module);
  return module;
}

}  // namespace dlcc::relay
