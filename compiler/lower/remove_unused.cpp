#include "lower/remove_unused.h"

#include <map>
#include <set>

#include "lower/walk.h"

namespace dlcc::lower {
namespace {

// The values that inputs, outputs and steps refer to, and their bases.
std::set<ValueId> used_values(Program& program) {
  std::set<ValueId> used(program.inputs.begin(), program.inputs.end());
  used.insert(program.outputs.begin(), program.outputs.end());
  for_each_value(program.body, [&](ValueId& id) { used.insert(id); });
  for (ValueId v : std::set(used))
    if (program.values[static_cast<size_t>(v)].base >= 0) used.insert(program.values[static_cast<size_t>(v)].base);
  return used;
}

void remove_unused_values(Program& program) {
  std::map<ValueId, ValueId> renumbered;
  std::vector<Value> values;
  std::vector<Constant> constants;
  for (ValueId v : used_values(program)) {
    renumbered[v] = static_cast<ValueId>(values.size());
    values.push_back(std::move(program.values[static_cast<size_t>(v)]));
    Value& own = values.back();
    if (own.storage != Storage::constant) continue;
    constants.push_back(program.constants[static_cast<size_t>(own.index)]);
    own.index = static_cast<int>(constants.size()) - 1;
  }
  for (Value& v : values)
    if (v.base >= 0) v.base = renumbered.at(v.base);
  for (ValueId& v : program.inputs) v = renumbered.at(v);
  for (ValueId& v : program.outputs) v = renumbered.at(v);
  for_each_value(program.body, [&](ValueId& id) { id = renumbered.at(id); });
  program.values = std::move(values);
  program.constants = std::move(constants);
}

void remove_unused_kernels(Program& program) {
  std::map<int, int> renumbered;
  std::vector<KernelVariants> kernels;
  for_each_call(program.body, [&](Invoke& call) {
    auto [it, is_new] = renumbered.emplace(call.kernel, static_cast<int>(kernels.size()));
    if (is_new) kernels.push_back(std::move(program.kernels[static_cast<size_t>(call.kernel)]));
    call.kernel = it->second;
  });
  program.kernels = std::move(kernels);
}

}  // namespace

void remove_unused(Program& program) {
  remove_unused_values(program);
  remove_unused_kernels(program);
}

}  // namespace dlcc::lower
