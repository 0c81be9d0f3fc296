#include "relay/shared_calls.h"

#include <algorithm>

namespace dlcc::relay {
namespace {

using Bodies = std::map<std::string, SharedCalls::Body>;

constexpr int64_t many = int64_t{1} << 40;  // counts are exact up to it

int64_t limited(int64_t count) { return std::min(count, many); }

// The functions that are reachable from the entry, callees before callers: postorder of a depth-first search.
std::vector<std::string> callees_first(const Bodies& bodies, const std::string& entry) {
  struct Visit {
    std::string name;
    size_t next = 0;
  };
  std::vector<std::string> order;
  std::set<std::string> seen;
  std::vector<Visit> stack;
  auto enter = [&](const std::string& name) {
    if (bodies.contains(name) && seen.insert(name).second) stack.push_back({name});
  };
  enter(entry);
  while (!stack.empty()) {
    const std::vector<Specialization>& calls = bodies.at(stack.back().name).calls;
    if (stack.back().next < calls.size()) {
      enter(calls[stack.back().next++].first);
    } else {
      order.push_back(std::move(stack.back().name));
      stack.pop_back();
    }
  }
  return order;
}

}  // namespace

// The number of calls of each specialisation in the program. A function has one body for each specialisation that is
// called, and one for each call that is inlined.
std::map<Specialization, int64_t> SharedCalls::count_calls(const Bodies& bodies,
                                                           const std::vector<std::string>& callees_first,
                                                           const std::string& entry) const {
  std::map<Specialization, int64_t> calls;
  for (auto name = callees_first.rbegin(); name != callees_first.rend(); ++name) {
    int64_t copies = *name == entry ? 1 : 0;
    for (auto own = calls.lower_bound({*name, ""}); own != calls.end() && own->first.first == *name; ++own)
      copies = limited(copies + (contains(own->first) ? 1 : own->second));
    for (const Specialization& callee : bodies.at(*name).calls) calls[callee] = limited(calls[callee] + copies);
  }
  return calls;
}

// First, selects every large specialisation that has two calls when everything is inlined. Then, inlines those to which
// only one call is left, because functions that contained the others are shared.
SharedCalls::SharedCalls(const Bodies& bodies, const std::string& entry) {
  const std::vector<std::string> order = callees_first(bodies, entry);
  const std::map<Specialization, int64_t> calls = count_calls(bodies, order, entry);
  std::map<std::string, Body> inlined;  // each function after the inlining decisions
  for (const std::string& name : order) {
    Body own{bodies.at(name).operations, {}, bodies.at(name).can_be_called};
    for (const Specialization& called : bodies.at(name).calls) {
      auto callee = inlined.find(called.first);
      if (callee == inlined.end()) continue;  // recursion
      const bool is_large = callee->second.can_be_called && callee->second.operations >= least_operations;
      if (is_large && calls.at(called) >= 2) called_.insert(called);
      own.operations = limited(own.operations + (contains(called) ? 1 : callee->second.operations));
      own.can_be_called &= contains(called) || callee->second.can_be_called;
    }
    inlined.emplace(name, std::move(own));
  }
  const std::map<Specialization, int64_t> remaining = count_calls(bodies, order, entry);
  std::erase_if(called_, [&](const Specialization& called) { return remaining.at(called) < 2; });
}

}  // namespace dlcc::relay
