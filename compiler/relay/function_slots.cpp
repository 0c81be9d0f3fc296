#include "relay/function_slots.h"

#include <algorithm>

#include "relay/prelude_file.h"

namespace dlcc::relay {

bool Slots::add(int id) {
  if (near_.empty()) first_ = id;
  const int index = id - first_, unused = index - static_cast<int>(near_.size());
  const bool is_near = index >= 0 && unused < most_unused;
  if (far_.contains(id) || (is_near && unused < 0 && near_[static_cast<size_t>(index)] >= 0)) return false;
  if (is_near) {
    near_.resize(std::max(near_.size(), static_cast<size_t>(index) + 1), -1);
    near_[static_cast<size_t>(index)] = static_cast<int>(count_++);
  } else {
    far_.emplace(id, count_++);
  }
  return true;
}

namespace {

class Assignment {
 public:
  std::unordered_map<const Function*, FunctionSlots> all;

  const FunctionSlots& function(const Function& f, int self) {
    FunctionSlots slots;
    slots.is_of_prelude = f.location.file == prelude_file;
    std::vector<int> used;
    for (const Var& p : f.params) bind(slots, p);
    block(f.body, slots, used);
    for (int id : used) {
      if (!slots.slot.add(id)) continue;
      slots.captured.push_back(id);
      if (id == self) slots.self = id;
    }
    return all[&f] = std::move(slots);
  }

 private:
  static void bind(FunctionSlots& slots, const Var& var) {
    slots.slot.add(var->id);
    for_each_symbol(var->type, [&](const Symbol&) { slots.has_symbols = true; });
  }

  static void bind(FunctionSlots& slots, const Pattern& pattern) {
    auto fields = [&](const std::vector<Pattern>& list) {
      for (const Pattern& p : list) bind(slots, p);
    };
    if (const auto* p = std::get_if<Pattern::Bind>(&pattern.v)) bind(slots, p->var);
    if (const auto* p = std::get_if<Pattern::Constructor>(&pattern.v)) fields(p->fields);
    if (const auto* p = std::get_if<Pattern::Tuple>(&pattern.v)) fields(p->fields);
  }

  void block(const Block& b, FunctionSlots& slots, std::vector<int>& used) {
    auto use = [&](const Atom& a) {
      if (const Var* var = std::get_if<Var>(&a)) used.push_back((*var)->id);
    };
    for (const Binding& binding : b.bindings) {
      bind(slots, binding.var);
      for_each_atom(binding.op, use);
      slots.has_symbols |= std::holds_alternative<MatchCast>(binding.op) ||
                           std::holds_alternative<DefineSizes>(binding.op) ||
                           std::holds_alternative<RequireSizes>(binding.op);
      if (const Match* match = std::get_if<Match>(&binding.op))
        for (const Clause& c : match->clauses) bind(slots, c.pattern);
      if (const MakeFunction* closure = std::get_if<MakeFunction>(&binding.op)) {
        const FunctionSlots& inner = function(*closure->function, binding.var->id);
        used.insert(used.end(), inner.captured.begin(), inner.captured.end());
      } else {
        for_each_block(binding.op, [&](const Block& nested) { block(nested, slots, used); });
      }
    }
    use(b.result);
  }
};

}  // namespace

std::unordered_map<const Function*, FunctionSlots> assign_slots(const Module& module) {
  Assignment assignment;
  for (const auto& [name, f] : module.functions) assignment.function(f, 0);
  return std::move(assignment.all);
}

}  // namespace dlcc::relay
