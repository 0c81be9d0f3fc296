// The tuple that a variadic operator reads is made in the block of the call, so that the operator's operands are known
// where it is fused and lowered.
//
//   let %parts = split(%x, indices_or_sections=2);       // or a parameter, or the result of an `if`
//   let %y = concatenate(%parts);
//
//   let %parts = split(%x, indices_or_sections=2);
//   %0 = %parts.0;
//   %1 = %parts.1;
//   %2 = (%0, %1);
//   let %y = concatenate(%2);
//
// Contract: results and the order of effects stay, since projections and tuples have no effects. The fields of a tuple
// that an enclosing block makes are used as they are.
#include <set>

#include "relay/operator.h"
#include "relay/passes/passes.h"

namespace dlcc::relay {

namespace {

class TupleRebuilder {
 public:
  explicit TupleRebuilder(Module& module) : module_(module) {}

  void block(Block& block) {
    std::set<int> made_here;
    std::vector<Binding> out;
    out.reserve(block.bindings.size());
    for (Binding& b : block.bindings) {
      if (Atom* operand = operand_of_variadic(b.op))
        if (const Var tuple = std::get<Var>(*operand); !made_here.contains(tuple->id))
          *operand = rebuilt(tuple, b.location, out);
      for_each_block(b.op, [&](Block& inner) { this->block(inner); });
      if (const MakeTuple* made = std::get_if<MakeTuple>(&b.op)) {
        made_here.insert(b.var->id);
        fields_.emplace(b.var->id, made->fields);
      }
      out.push_back(std::move(b));
    }
    block.bindings = std::move(out);
  }

 private:
  // The variable of a tuple that a variadic operator reads; null if the operation reads none.
  static Atom* operand_of_variadic(Operation& op) {
    Call* call = std::get_if<Call>(&op);
    const OperatorRef* callee = call ? std::get_if<OperatorRef>(&call->callee) : nullptr;
    if (!callee || !callee->op->variadic || call->args.size() != 1) return nullptr;
    const Var* tuple = std::get_if<Var>(&call->args[0]);
    return tuple && as<TupleType>((*tuple)->type) ? &call->args[0] : nullptr;
  }

  Var bind(Operation op, Type type, const SourceLocation& location, std::vector<Binding>& out) {
    Var var = module_.fresh("", std::move(type));
    out.push_back({var, std::move(op), location});
    return var;
  }

  Var rebuilt(const Var& tuple, const SourceLocation& location, std::vector<Binding>& out) {
    MakeTuple copy;
    if (const auto known = fields_.find(tuple->id); known != fields_.end()) copy.fields = known->second;
    const std::vector<Type>& types = as<TupleType>(tuple->type)->fields;
    for (size_t k = copy.fields.size(); k < types.size(); ++k)
      copy.fields.emplace_back(bind(Project{tuple, static_cast<int>(k)}, types[k], location, out));
    return bind(std::move(copy), tuple->type, location, out);
  }

  Module& module_;
  std::map<int, std::vector<Atom>> fields_;  // of the tuples that the blocks so far make, by variable
};

}  // namespace

Module rebuild_tuples(Module module, PassContext&) {
  TupleRebuilder rebuilder(module);
  for (auto& [name, f] : module.functions) rebuilder.block(f.body);
  return module;
}

}  // namespace dlcc::relay
