// Removes operations whose values are not used, where their effects allow it, and then functions that are not
// reachable. Blocks are walked backward, so that operations that only dead ones use are dead, too.
#include <algorithm>
#include <set>

#include "relay/call_graph.h"
#include "relay/effects.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"

namespace dlcc::relay {

namespace {

class Eliminator {
 public:
  explicit Eliminator(EffectAnalysis& effects) : effects_(effects) {}

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

  // A function that is used only in its own body is dead.
  bool is_dead(const Binding& b) {
    int uses = uses_[b.var];
    if (const MakeFunction* closure = std::get_if<MakeFunction>(&b.op); closure && uses > 0)
      uses -= Uses(closure->function->body)[b.var];
    return uses == 0 && effects_.of(b.op).removable();
  }

  EffectAnalysis& effects_;
  Uses uses_;
};

void collect_tensor_functions(const Block& block, std::set<std::string>& names) {
  for (const Binding& b : block.bindings) {
    if (const CallTensor* call = std::get_if<CallTensor>(&b.op)) names.insert(call->function);
    for_each_block(b.op, [&](const Block& inner) { collect_tensor_functions(inner, names); });
  }
}

void remove_unreachable(Module& module) {
  const std::set<std::string> reached = functions_in_use(module);
  std::set<std::string> tensor_functions;
  for (const std::string& name : reached) collect_tensor_functions(module.functions.at(name).body, tensor_functions);
  std::erase_if(module.functions, [&](const auto& entry) { return !reached.contains(entry.first); });
  std::erase_if(module.tensor_functions, [&](const auto& entry) { return !tensor_functions.contains(entry.first); });
}

}  // namespace

Module eliminate_dead_code(Module module, PassContext&) {
  EffectAnalysis effects(module);
  for (auto& [name, f] : module.functions) Eliminator(effects).run(f.body);
  remove_unreachable(module);
  return module;
}

}  // namespace dlcc::relay
