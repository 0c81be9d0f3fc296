#include "relay/passes/result_definitions.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tensor/visit.h"

namespace dlcc::relay {
namespace {

using tensor::Buffer;
using tensor::Stage;
using tensor::TensorFunction;

// The stages that each result needs, in order.
std::vector<std::set<size_t>> needed_stages(const TensorFunction& f) {
  std::map<Buffer, std::vector<size_t>> writers;
  for (size_t k = 0; k < f.stages.size(); ++k)
    for (const Buffer& b : f.stages[k].results) writers[b].push_back(k);
  std::vector<std::set<size_t>> needed;
  for (const Buffer& result : f.results) {
    std::set<size_t>& stages = needed.emplace_back();
    std::vector<Buffer> work = {result};
    while (!work.empty()) {
      const Buffer buffer = work.back();
      work.pop_back();
      for (size_t k : writers[buffer]) {
        if (!stages.insert(k).second) continue;
        tensor::for_each_root_expr(f.stages[k], [&](const tensor::Expr& e) {
          for (const tensor::Load& l : tensor::loads_of(e)) work.push_back(l.buffer);
        });
      }
    }
  }
  return needed;
}

// For each result, a function with its stages; empty if another result needs one of them. A stage that can fail belongs
// to all results.
std::vector<std::optional<TensorFunction>> taken_apart(TensorFunction f) {
  std::vector<std::optional<TensorFunction>> apart(f.results.size());
  if (std::ranges::any_of(f.stages, [](const Stage& s) { return !s.requirements.empty() || s.body; })) return apart;
  const std::vector<std::set<size_t>> needed = needed_stages(f);
  std::vector<int> users(f.stages.size());
  for (const std::set<size_t>& stages : needed)
    for (size_t k : stages) ++users[k];
  for (size_t r = 0; r < apart.size(); ++r) {
    if (std::ranges::any_of(needed[r], [&](size_t k) { return users[k] > 1; })) continue;
    apart[r] = TensorFunction{f.name, f.params, {f.results[r]}, {}, f.scalars};
    for (size_t k : needed[r]) apart[r]->stages.push_back(std::move(f.stages[k]));
  }
  return apart;
}

}  // namespace

TensorFunction ResultDefinitions::definition(const Binding& binding, const Operands& types, size_t index) {
  const Call& call = std::get<Call>(binding.op);
  auto whole = [&] { return std::get<OperatorRef>(call.callee).op->compute_as(call.attrs, types, binding.var->type); };
  auto known = apart_.find(binding.var->id);
  if (known == apart_.end()) known = apart_.emplace(binding.var->id, taken_apart(whole())).first;
  if (std::optional<TensorFunction>& own = known->second[index]) return *std::exchange(own, std::nullopt);
  TensorFunction f = whole();
  f.results = {f.results[index]};
  return f;
}

}  // namespace dlcc::relay
