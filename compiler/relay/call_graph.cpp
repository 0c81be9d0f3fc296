#include "relay/call_graph.h"

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
std::vector<std::string> callees_first(const std::vector<std::string>& roots, const CalleesOf& callees_of) {
  struct Visit {
    std::string name;
    std::vector<std::string> callees;
    size_t next = 0;
  };
  std::vector<std::string> order;
  std::set<std::string> seen;
  std::vector<Visit> stack;
  auto enter = [&](const std::string& name) {
    if (seen.contains(name)) return;
    auto callees = callees_of(name);
    if (!callees) return;
    seen.insert(name);
    stack.push_back({name, std::move(*callees)});
  };
  for (const std::string& root : roots) {
    enter(root);
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

static std::vector<std::string> callees_first(const Module& module, const std::vector<std::string>& roots) {
  return callees_first(roots, [&](const std::string& name) {
    auto it = module.functions.find(name);
    return it == module.functions.end() ? std::nullopt : std::optional(globals_in(it->second.body));
  });
}

std::vector<std::string> callees_first(const Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, function] : module.functions) names.push_back(name);
  return callees_first(module, names);
}

std::set<std::string> functions_in_use(const Module& module) {
  const auto names = module.functions.contains("main") ? callees_first(module, {"main"}) : callees_first(module);
  return {names.begin(), names.end()};
}

}  // namespace dlcc::relay
