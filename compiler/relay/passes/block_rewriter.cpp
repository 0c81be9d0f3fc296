// The walk that applies rewrite rules to blocks.
#include "relay/passes/block_rewriter.h"

#include <algorithm>
#include <utility>

#include "tensor/evaluate.h"

namespace dlcc::relay {

void BlockRewriter::run(Block& body) {
  uses_ = Uses(body);
  block(body);
}

void BlockRewriter::block(Block& b) {
  std::vector<Binding> out;
  out.reserve(b.bindings.size());
  std::vector<Binding>* outer = std::exchange(out_, &out);
  std::map<int, size_t> outer_positions = std::exchange(position_, {});
  for (Binding& binding : b.bindings) {
    known_.apply(binding.op);
    for_each_block(binding.op, [&](Block& inner) { block(inner); });
    location_ = binding.location;
    if (std::optional<Atom> atom = rule_(*this, binding)) {
      uses_.add(*atom, uses_[binding.var]);
      release(binding.op);
      known_.add(binding.var, std::move(*atom));
    } else {
      push(std::move(binding));
    }
  }
  known_.apply(b.result);
  b.bindings = std::move(out);
  out_ = outer;
  position_ = std::move(outer_positions);
}

void BlockRewriter::push(Binding binding) {
  position_[binding.var->id] = out_->size();
  out_->push_back(std::move(binding));
}

// Removes the uses of a replaced operation. An operand of this block without further uses is dead, and its operands
// lose a use, too; dead code elimination removes it.
void BlockRewriter::release(const Operation& op) {
  std::vector<const Operation*> pending = {&op};
  while (!pending.empty()) {
    const Operation* gone = pending.back();
    pending.pop_back();
    uses_.add(*gone, -1);
    for_each_atom(*gone, [&](const Atom& a) {
      const Var* var = std::get_if<Var>(&a);
      const Operation* made = var && uses_[*var] == 0 ? definition(a) : nullptr;
      if (made && released_.insert((*var)->id).second && effects_.of(*made).removable()) pending.push_back(made);
    });
  }
}

const Operation* BlockRewriter::definition(const Atom& atom) const {
  const Var* var = std::get_if<Var>(&atom);
  auto it = var ? position_.find((*var)->id) : position_.end();
  return it == position_.end() ? nullptr : &(*out_)[it->second].op;
}

const Call* BlockRewriter::call_of(const Atom& atom, const std::string& name) const {
  const Operation* op = definition(atom);
  const Call* call = op ? std::get_if<Call>(op) : nullptr;
  const OperatorRef* callee = call ? std::get_if<OperatorRef>(&call->callee) : nullptr;
  return callee && callee->op->name == name ? call : nullptr;
}

bool BlockRewriter::used_once(const Atom& atom) const {
  const Var* var = std::get_if<Var>(&atom);
  return var && uses_[*var] <= 1;  // an operation that a rule has just emitted has no use yet
}

bool BlockRewriter::is_constant(const Atom& atom) const {
  if (std::holds_alternative<Constant>(atom)) return true;
  const Var* var = std::get_if<Var>(&atom);
  return var && constants_.contains((*var)->id);
}

std::optional<Constant> BlockRewriter::value(const Atom& atom) {
  if (const Constant* constant = std::get_if<Constant>(&atom)) return *constant;
  const int id = std::get<Var>(atom)->id;
  if (auto it = values_.find(id); it != values_.end()) return it->second;
  const Operation* made = is_constant(atom) ? definition(atom) : nullptr;
  if (!made) return std::nullopt;
  const Call& call = std::get<Call>(*made);
  Operands operands;
  std::vector<Constant> args;
  for (const Atom& a : call.args) {
    std::optional<Constant> arg = value(a);
    if (!arg) return std::nullopt;
    operands.push_back(tensor(a));
    args.push_back(std::move(*arg));
  }
  const Operator& callee = *std::get<OperatorRef>(call.callee).op;
  tensor::EvaluationResult computed = tensor::evaluate(callee.compute(call.attrs, operands), args);
  if (computed.status != tensor::Status::ok) return std::nullopt;
  return values_.emplace(id, std::move(computed.results[0])).first->second;
}

Atom BlockRewriter::emit(const std::string& name, std::vector<Atom> args, Attrs attrs) {
  const Operator* callee = op(name);
  Operands operands;
  for (const Atom& a : args) operands.push_back(tensor(a));
  TypeResult type = callee->type(attrs, operands);
  const TypeError* error = std::get_if<TypeError>(&type);
  DLCC_CHECK(!error, "{}: {}", name, error ? error->message : "");
  Var var = module_.fresh("", std::get<Type>(type));
  if (std::ranges::all_of(args, [&](const Atom& a) { return is_constant(a); })) constants_.insert(var->id);
  Binding binding{var, Call{OperatorRef{callee}, std::move(args), std::move(attrs)}, location_};
  uses_.add(binding.op, 1);
  push(std::move(binding));
  return var;
}

}  // namespace dlcc::relay
