#include "relay/passes/found_sizes.h"

#include "relay/types_in.h"

namespace dlcc::relay {

namespace {

class FoundSizes {
 public:
  std::set<int> variables;

  void function(const Function& f, std::set<std::string> known) {
    for (const Var& p : f.params) add_symbols(p->type, known);
    block(f.body, std::move(known));
  }

 private:
  // `known`: the symbols of the enclosing blocks and functions.
  void block(const Block& b, std::set<std::string> known) {
    for (const Binding& binding : b.bindings) {
      if (const auto* sizes = std::get_if<DefineSizes>(&binding.op))
        for (const Symbol& s : sizes->symbols) known.insert(s.name);
      if (const auto* made = std::get_if<MakeFunction>(&binding.op))
        function(*made->function, known);
      else
        for_each_block(binding.op, [&](const Block& inner) { block(inner, known); });
      if (is_operator_call(binding.op))
        for_each_symbol(binding.var->type, [&](const Symbol& s) {
          if (!known.contains(s.name)) variables.insert(binding.var->id);
        });
      add_symbols(binding.var->type, known);
    }
  }

  static bool is_operator_call(const Operation& op) {
    const Call* call = std::get_if<Call>(&op);
    return call && std::holds_alternative<OperatorRef>(call->callee);
  }
};

}  // namespace

std::set<int> variables_with_found_sizes(const Function& f) {
  FoundSizes found;
  found.function(f, {});
  return std::move(found.variables);
}

}  // namespace dlcc::relay
