// Graph form to A-normal form: every operation is bound by `let`, whose order is the order of evaluation.
//
//   %0 = exp(%x); %0 + %0        becomes        let %x1: float32 = exp(%x); let %x2: float32 = %x1 + %x1; %x2
//
// The parser puts the operations of a graph in the order of the text, each in the block that binds it; the pass gives
// their variables names. The last operation of a block is printed in place of its result in both forms. The inverse of
// to-graph-form.
#include "relay/passes/passes.h"

namespace dlcc::relay {

namespace {

void give_names(Block& block) {
  for (Binding& b : block.bindings) {
    if (b.var->name.empty()) b.var->name = "x";
    for_each_block(b.op, [&](Block& inner) { give_names(inner); });
  }
}

}  // namespace

Module to_a_normal_form(Module module, PassContext&) {
  for (auto& [name, f] : module.functions) give_names(f.body);
  return module;
}

}  // namespace dlcc::relay
