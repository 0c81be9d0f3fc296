#include "relay/call_graph.h"

#include <set>

namespace dlcc::relay {

static void collect(const Block& block, std::vector<std::string>& names) {
  auto atom = [&](const Atom& a) {
    if (const GlobalRef* g = std::get_if<GlobalRef>(&a)) names.push_back(g->name);
  };
  for (const Binding& b : block.bindings) {
    for_each_atom(b.op, atom);
    for_each_block(b.op, [&](const Block& inner) { collect(inner, names); });
  }
  atom(block.result);
}

std::vector<std::string> globals_in(const Block& block) {
  std::vector<std::string> names;
  collect(block, names);
  return names;
}

// Postorder of a depth-first search.
std::vector<std::string> callees_first(const Module& module) {
  struct Visit {
    std::string name;
    std::vector<std::string> callees;
    size_t next = 0;
  };
  std::vector<std::string> order;
  std::set<std::string> seen;
  std::vector<Visit> stack;
  auto enter = [&](const std::string& name) {
    auto it = module.functions.find(name);
    if (it != module.functions.end() && seen.insert(name).second) stack.push_back({name, globals_in(it->second.body)});
  };
  for (const auto& [name, function] : module.functions) {
    enter(name);
    while (!stack.empty()) {
      if (stack.back().next == stack.back().callees.size()) {
        order.push_back(std::move(stack.back().name));
        stack.pop_back();
      } else {
        std::string callee = stack.back().callees[stack.back().next++];
        enter(callee);
      }
    }
  }
  return order;
}

}  // namespace dlcc::relay
