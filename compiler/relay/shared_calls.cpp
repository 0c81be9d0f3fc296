#include "relay/shared_calls.h"

#include <algorithm>

#include "relay/call_graph.h"

namespace dlcc::relay {
namespace {

using Bodies = std::map<std::string, SharedCalls::Body>;

constexpr int64_t max_count = int64_t{1} << 40;  // counts are exact up to it

int64_t limited(int64_t count) { return std::min(count, max_count); }

std::vector<std::string> callees_first(const Bodies& bodies, const std::string& entry) {
  return relay::callees_first({entry}, [&](const std::string& name) -> std::optional<std::vector<std::string>> {
    auto body = bodies.find(name);
    if (body == bodies.end()) return std::nullopt;
    std::vector<std::string> callees;
    for (const Specialization& callee : body->second.calls) callees.push_back(callee.first);
    return callees;
  });
}

}  // namespace

// The number of calls of each specialization in the program. A function has one body for each specialization that is
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

// First, selects every large specialization. Then, inlines those with one call in the program.
SharedCalls::SharedCalls(const Bodies& bodies, const std::string& entry) {
  const std::vector<std::string> order = callees_first(bodies, entry);
  std::map<std::string, Body> inlined;  // each function after the inlining decisions
  for (const std::string& name : order) {
    Body own{bodies.at(name).operations, {}, bodies.at(name).can_be_called};
    for (const Specialization& called : bodies.at(name).calls) {
      auto callee = inlined.find(called.first);
      if (callee == inlined.end()) continue;  // recursion
      const bool is_large = callee->second.can_be_called && callee->second.operations >= least_operations;
      if (is_large) called_.insert(called);
      own.operations = limited(own.operations + (contains(called) ? 1 : callee->second.operations));
      own.can_be_called &= contains(called) || callee->second.can_be_called;
    }
    inlined.emplace(name, std::move(own));
  }
  const std::map<Specialization, int64_t> remaining = count_calls(bodies, order, entry);
  std::erase_if(called_, [&](const Specialization& called) { return remaining.at(called) < 2; });
}

}  // namespace dlcc::relay
