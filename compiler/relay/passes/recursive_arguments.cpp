#include "relay/passes/recursive_arguments.h"

#include <algorithm>

#include "relay/passes/replace.h"

namespace dlcc::relay {

bool has_function(const Type& type) {
  if (const TupleType* t = as<TupleType>(type)) return std::ranges::any_of(t->fields, has_function);
  return as<FunctionType>(type) != nullptr;
}

// Calls `visit` for the calls of the variable in the block and in the blocks nested there.
static void for_each_call(Block& block, const Var& callee, const std::function<void(Call&)>& visit) {
  for (Binding& b : block.bindings) {
    Call* call = std::get_if<Call>(&b.op);
    const Var* called = call ? std::get_if<Var>(&call->callee) : nullptr;
    if (called && *called == callee) visit(*call);
    for_each_block(b.op, [&](Block& inner) { for_each_call(inner, callee, visit); });
  }
}

std::vector<size_t> passed_on_functions(const Function& function, const Var& self) {
  std::vector<size_t> indices;
  for (size_t k = 0; k < function.params.size(); ++k)
    if (has_function(function.params[k]->type)) indices.push_back(k);
  Block body = function.body;
  int calls = 0;
  bool passes_on = true;
  for_each_call(body, self, [&](const Call& call) {
    ++calls;
    for (size_t k : indices) {
      const Var* arg = std::get_if<Var>(&call.args[k]);
      passes_on = passes_on && arg && *arg == function.params[k];
    }
  });
  const bool is_only_called = calls > 0 && Uses(body)[self] == calls;
  const bool is_first_order = function.type_params.empty() && !has_function(function.result_type);
  return is_only_called && is_first_order && passes_on ? indices : std::vector<size_t>();
}

void erase_arguments(Block& block, const Var& callee, const std::vector<size_t>& indices) {
  for_each_call(block, callee, [&](Call& call) { erase_at(call.args, indices); });
}

}  // namespace dlcc::relay
