// A-normal form to graph form: bindings without effects become graph bindings.
//
//   let %y: float32 = exp(%x); %y + %y        becomes        %0 = exp(%x); %0 + %0
//
// In TVM's text, `let` gives an order of evaluation, and a graph binding `%0 = ...` is a node of a data-flow graph,
// which has none. Here a program is a list of operations on atoms in both forms; what differs is the name of the
// variable: a graph binding has none. The pass takes the names of operations whose order nobody can see, and `let`
// stays where the order matters: for effects, for functions that call themselves by their name, and for sizes that the
// type names. to-a-normal-form is the inverse but for the names.
#include "relay/effects.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"

namespace dlcc::relay {

namespace {

void take_names(Block& block, EffectAnalysis& effects) {
  for (Binding& b : block.bindings) {
    const MakeFunction* made = std::get_if<MakeFunction>(&b.op);
    const bool is_recursive = made && Uses(made->function->body)[b.var] > 0;
    if (effects.of(b.op) == Effects{} && !is_recursive) b.var->name.clear();
    for_each_block(b.op, [&](Block& inner) { take_names(inner, effects); });
  }
}

}  // namespace

Module to_graph_form(Module module, PassContext&) {
  EffectAnalysis effects(module);
  for (auto& [name, f] : module.functions) take_names(f.body, effects);
  return module;
}

}  // namespace dlcc::relay
