// An operator with data-dependent sizes and the match_cast of its result to a static type become one tensor function.
// The definition of the function computes a result of the static sizes, and requires that the operands specify these:
//
//   %0 = reshape(%x, %sizes);                          %1 = call_tensor(@reshape, %x, %sizes)
//   %1 = match_cast(%0, Tensor[(2, 3), float32])
#include <set>

#include "relay/operator.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"

namespace dlcc::relay {

namespace {

class DeclaredSizeChecker {
 public:
  explicit DeclaredSizeChecker(Module& module) : module_(module), names_(module) {}

  void run(Block& body) {
    uses_ = Uses(body);
    block(body);
  }

 private:
  void block(Block& b) {
    std::map<int, size_t> position;  // of the block's variables
    for (size_t k = 0; k < b.bindings.size(); ++k) {
      Binding& binding = b.bindings[k];
      position[binding.var->id] = k;
      for_each_block(binding.op, [&](Block& inner) { block(inner); });
      const MatchCast* cast = std::get_if<MatchCast>(&binding.op);
      const Var* value = cast ? std::get_if<Var>(&cast->value) : nullptr;
      auto at = value && is_static(cast->type) && uses_[*value] == 1 ? position.find((*value)->id) : position.end();
      const Call* call = at == position.end() ? nullptr : std::get_if<Call>(&b.bindings[at->second].op);
      if (auto joined = call ? tensor_call(*call, cast->type) : std::nullopt) {
        removed_.insert((*value)->id);
        binding.op = std::move(*joined);
        binding.location = b.bindings[at->second].location;
      }
    }
    std::erase_if(b.bindings, [&](const Binding& binding) { return removed_.contains(binding.var->id); });
  }

  // The call with a result of type `type`; empty unless its operands determine sizes and are tensors of static shape.
  std::optional<CallTensor> tensor_call(const Call& call, const Type& type) {
    const OperatorRef* o = std::get_if<OperatorRef>(&call.callee);
    if (!o || o->op->values.empty() || call.args.size() == o->op->arguments.size()) return std::nullopt;
    Operands operands;
    for (const Atom& a : call.args) {
      operands.push_back(*as<TensorType>(type_of(module_, a)));
      if (!is_static(operands.back().shape)) return std::nullopt;
    }
    return names_.add(o->op->short_name(), o->op->compute_as(call.attrs, operands, type), call.args);
  }

  Module& module_;
  TensorFunctionNames names_;
  Uses uses_;
  std::set<int> removed_;
};

}  // namespace

Module check_declared_sizes(Module module, PassContext&) {
  DeclaredSizeChecker checker(module);
  for (auto& [name, f] : module.functions) checker.run(f.body);
  return module;
}

}  // namespace dlcc::relay
