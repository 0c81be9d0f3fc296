#include "relay/shared_calls.h"

#include <algorithm>

namespace dlcc::relay {
namespace {

using Bodies = std::map<std::string, SharedCalls::Body>;

constexpr int64_t many = int64_t{1} << 40;  // counts are exact up to it

int64_t limited(int64_t count) { return std::min(count, many); }

// The functions that the entry reaches, each after those that it calls: postorder of a depth-first search.
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
    const std::vector<CallWay>& calls = bodies.at(stack.back().name).calls;
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

// The number of places in the program from which each way is taken. A function has one body for each way in which it is
// called, and one for each place where it is inlined.
std::map<CallWay, int64_t> SharedCalls::count_places(const Bodies& bodies,
                                                     const std::vector<std::string>& callees_first,
                                                     const std::string& entry) const {
  std::map<CallWay, int64_t> places;
  for (auto name = callees_first.rbegin(); name != callees_first.rend(); ++name) {
    int64_t copies = *name == entry ? 1 : 0;
    for (auto way = places.lower_bound({*name, ""}); way != places.end() && way->first.first == *name; ++way)
      copies = limited(copies + (contains(way->first) ? 1 : way->second));
    for (const CallWay& callee : bodies.at(*name).calls) places[callee] = limited(places[callee] + copies);
  }
  return places;
}

// First, every function that is large enough and has two places if nothing is called. Then, those that have one place
// left are inlined again.
SharedCalls::SharedCalls(const Bodies& bodies, const std::string& entry) {
  const std::vector<std::string> order = callees_first(bodies, entry);
  const std::map<CallWay, int64_t> places = count_places(bodies, order, entry);
  std::map<std::string, Body> inlined;  // what each function is when its calls are inlined or not
  for (const std::string& name : order) {
    Body own{bodies.at(name).operations, {}, bodies.at(name).can_be_called};
    for (const CallWay& way : bodies.at(name).calls) {
      auto callee = inlined.find(way.first);
      if (callee == inlined.end()) continue;  // recursion
      const bool is_large = callee->second.can_be_called && callee->second.operations >= least_operations;
      if (is_large && places.at(way) >= 2) called_.insert(way);
      own.operations = limited(own.operations + (contains(way) ? 1 : callee->second.operations));
      own.can_be_called &= contains(way) || callee->second.can_be_called;
    }
    inlined.emplace(name, std::move(own));
  }
  const std::map<CallWay, int64_t> remaining = count_places(bodies, order, entry);
  std::erase_if(called_, [&](const CallWay& way) { return remaining.at(way) < 2; });
}

}  // namespace dlcc::relay
