#include "relay/tail_recursion.h"

#include "relay/passes/replace.h"

namespace dlcc::relay {
namespace {

// The operation whose value is the block's, if it is the last one.
const Operation* last_operation(const Block& block) {
  const Var* result = std::get_if<Var>(&block.result);
  bool last = result && !block.bindings.empty() && block.bindings.back().var->id == (*result)->id;
  return last ? &block.bindings.back().op : nullptr;
}

// The call of the function in which the block ends.
const Call* last_call(const Block& block, int self) {
  const Operation* last = last_operation(block);
  const Call* call = last ? std::get_if<Call>(last) : nullptr;
  const Var* callee = call ? std::get_if<Var>(&call->callee) : nullptr;
  return callee && (*callee)->id == self ? call : nullptr;
}

}  // namespace

std::optional<TailRecursion> tail_recursion(const Function& f, int self) {
  const Operation* last = last_operation(f.body);
  const If* branch = last ? std::get_if<If>(last) : nullptr;
  if (!branch || Uses(f.body).count(self) != 1) return std::nullopt;
  const Block &then_block = *branch->then_block, &else_block = *branch->else_block;
  if (const Call* next = last_call(then_block, self))
    return TailRecursion{branch, &then_block, &else_block, next, true};
  if (const Call* next = last_call(else_block, self))
    return TailRecursion{branch, &else_block, &then_block, next, false};
  return std::nullopt;
}

}  // namespace dlcc::relay
