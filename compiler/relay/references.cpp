// A value is held from outside if it has more owners than those found by walking over all that the references reach.
// What no such value reaches is garbage.
#include "relay/references.h"

#include <unordered_map>
#include <utility>

namespace dlcc::relay {

namespace {

struct Reached {    // a value that references reach
  long owners = 0;  // of the value
  long inside = 0;  // those of them that are such values
  bool is_live = false;
};

}  // namespace

Value References::create(Value contents) {
  if (all_.size() >= collect_at_) collect();
  Value reference = make_value(RefValue{std::move(contents)});
  all_.push_back(reference);
  return reference;
}

void References::collect() {
  std::erase_if(all_, [](const auto& reference) { return reference.expired(); });
  std::unordered_map<const ValueNode*, Reached> reached;
  std::vector<const ValueNode*> rest;
  for (const auto& reference : all_) {
    const ValueNode* node = reference.lock().get();  // which has another owner
    reached[node].owners = reference.use_count();
    rest.push_back(node);
  }
  while (!rest.empty()) {
    const ValueNode* node = rest.back();
    rest.pop_back();
    for (const Value& part : parts_of(*node)) {
      if (!part) continue;
      auto [found, is_new] = reached.try_emplace(part.get(), Reached{part.use_count()});
      ++found->second.inside;
      if (is_new) rest.push_back(part.get());
    }
  }
  for (auto& [node, r] : reached)
    if ((r.is_live = r.owners > r.inside)) rest.push_back(node);
  size_t live = 0;
  while (!rest.empty()) {
    const ValueNode* node = rest.back();
    rest.pop_back();
    ++live;
    for (const Value& part : parts_of(*node))
      if (part && !std::exchange(reached.at(part.get()).is_live, true)) rest.push_back(part.get());
  }
  for (const auto& weak : all_)
    if (const Value reference = weak.lock(); reference && !reached.at(reference.get()).is_live)
      std::get<RefValue>(reference->v).contents = nullptr;
  std::erase_if(all_, [](const auto& reference) { return reference.expired(); });
  collect_at_ = 1024 + 2 * all_.size() + live;
}

}  // namespace dlcc::relay
