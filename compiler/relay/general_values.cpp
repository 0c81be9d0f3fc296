// Finds values that `let` may make polymorphic, and drops copies of them that are unused or equal to an earlier copy.
#include "relay/general_values.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "relay/instances.h"

namespace dlcc::relay {

namespace {

struct UseCounts {
  std::map<int, int> of;  // by variable

  void add(const Atom& a, int count) {
    if (const Var* v = std::get_if<Var>(&a)) of[(*v)->id] += count;
  }

  void add(const Block& block) {
    for (const Binding& b : block.bindings) {
      for_each_atom(b.op, [&](const Atom& a) { add(a, 1); });
      for_each_block(b.op, [&](const Block& inner) { add(inner); });
    }
    add(block.result, 1);
  }
};

void remove_unused(Block& block, UseCounts& uses, const std::function<bool(const Var&)>& may_remove) {
  std::vector<Binding> kept;
  for (Binding& b : block.bindings | std::views::reverse) {  // the uses of a variable are behind its binding
    if (uses.of[b.var->id] == 0 && may_remove(b.var)) {
      for_each_atom(b.op, [&](const Atom& a) { uses.add(a, -1); });
      continue;
    }
    for_each_block(b.op, [&](Block& inner) { remove_unused(inner, uses, may_remove); });
    kept.push_back(std::move(b));
  }
  std::ranges::reverse(kept);
  block.bindings = std::move(kept);
}

struct EqualCopies {
  const std::map<int, int>& values;
  const std::function<Type(const Type&)>& resolve;
  std::map<int, std::vector<const Binding*>> visible = {};  // copies of each value
  std::map<int, Var> replaced = {};

  void replace(Atom& a) const {
    const Var* v = std::get_if<Var>(&a);
    if (auto it = v ? replaced.find((*v)->id) : replaced.end(); it != replaced.end()) a = Var(it->second);
  }

  // Copies of one value differ in variables and functions only, which may be copies themselves.
  bool are_equal(const Binding& a, const Binding& b) const {
    auto names_of = [](const Operation& op) {
      std::vector<Atom> names;
      for_each_atom(op, [&](const Atom& atom) {
        if (std::holds_alternative<Var>(atom) || std::holds_alternative<GlobalRef>(atom)) names.push_back(atom);
      });
      return names;
    };
    return same_type(resolve(a.var->type), resolve(b.var->type)) &&
           std::ranges::equal(names_of(a.op), names_of(b.op), names_same);
  }

  void visit(Block& block) {
    std::vector<int> entered;
    std::vector<Binding> bindings = std::exchange(block.bindings, {});
    block.bindings.reserve(bindings.size());  // `visible` points to them
    for (Binding& b : bindings) {
      for_each_atom(b.op, [&](Atom& a) { replace(a); });
      for_each_block(b.op, [&](Block& inner) { visit(inner); });
      const auto value = values.find(b.var->id);
      if (value == values.end()) {
        block.bindings.push_back(std::move(b));
        continue;
      }
      std::vector<const Binding*>& others = visible[value->second];
      const auto equal = std::ranges::find_if(others, [&](const Binding* other) { return are_equal(*other, b); });
      if (equal != others.end()) {
        replaced.emplace(b.var->id, (*equal)->var);
        continue;
      }
      block.bindings.push_back(std::move(b));
      others.push_back(&block.bindings.back());
      entered.push_back(value->second);
    }
    replace(block.result);
    for (int value : entered) visible[value].pop_back();
  }
};

}  // namespace

bool is_syntactic_value(const Operation& op) {
  const Call* call = std::get_if<Call>(&op);
  return (call && std::holds_alternative<ConstructorRef>(call->callee)) || std::holds_alternative<MakeTuple>(op) ||
         std::holds_alternative<Alias>(op);
}

void remove_unused(Block& block, const std::function<bool(const Var&)>& may_remove) {
  UseCounts uses;
  uses.add(block);
  remove_unused(block, uses, may_remove);
}

void merge_equal_copies(Block& block, const std::map<int, int>& values,
                        const std::function<Type(const Type&)>& resolve) {
  EqualCopies{values, resolve}.visit(block);
}

}  // namespace dlcc::relay
