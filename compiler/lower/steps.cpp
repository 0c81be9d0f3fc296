#include "lower/steps.h"

#include "lower/live_ranges.h"
#include "lower/walk.h"
#include "tensor/visit.h"

namespace dlcc::lower {

namespace {

// Whether every stored value is a literal or an element as loaded, after conversions of its type.
bool only_moves(const tensor::Kernel& kernel) {
  bool result = true;
  tensor::for_each_stmt(kernel.body, [&](const tensor::Stmt& s) {
    const auto* store = tensor::as<tensor::Store>(s);
    if (!store) return;
    tensor::Expr value = store->value;
    while (const auto* c = tensor::as<tensor::Cast>(value)) value = c->a;
    result &= tensor::as<tensor::Load>(value) || tensor::as<tensor::Literal>(value);
  });
  return result;
}

StepCost cost_of(const Program& program, const Invoke& call, int number) {
  const KernelVariants& kernel = program.kernels[static_cast<size_t>(call.kernel)];
  const tensor::Kernel& variant = kernel.variants.front();  // parameters are those of all
  StepCost cost{.number = number, .node = call.node, .kernel = kernel.name, .flops = 2 * call.macs};
  for (size_t k = 0; k < call.operands.size(); ++k) {
    int64_t bytes = program.values[static_cast<size_t>(call.operands[k])].bytes;
    switch (variant.params[k].access) {
      case tensor::Access::read:
        cost.bytes_read += bytes;
        cost.reads.push_back(call.operands[k]);
        break;
      case tensor::Access::write:
        cost.bytes_written += bytes;
        cost.writes.push_back(call.operands[k]);
        break;
      case tensor::Access::scratch:
        cost.scratch_bytes += bytes;
        cost.scratch += (cost.scratch.empty() ? "" : ", ") + variant.params[k].buffer->name;
        break;
    }
  }
  cost.only_moves = call.macs == 0 && variant.body && only_moves(variant);
  return cost;
}

}  // namespace

int count_steps(const Program& program) {
  int count = 0;
  for_each_call(program.body, [&](const Invoke&) { ++count; });
  return count;
}

static int64_t macs_of(const Region& region) {
  int64_t total = 0;
  for (const Step& step : region.steps) {
    if (const auto* call = std::get_if<Invoke>(&step)) total += call->macs;
    if (const auto* branch = std::get_if<std::shared_ptr<Branch>>(&step))
      total += macs_of((*branch)->then_region) + macs_of((*branch)->else_region);
    if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&step))
      total += macs_of((*loop)->test) + constant_trip_count(**loop).value_or(1) * macs_of((*loop)->body);
  }
  return total;
}

int64_t total_macs(const Program& program) { return macs_of(program.body); }

std::vector<StepCost> step_costs(const Program& program) {
  std::vector<StepCost> costs;
  int number = 0;
  for_each_step(program.body, [&](const Step& step) {
    if (const auto* call = std::get_if<Invoke>(&step)) costs.push_back(cost_of(program, *call, number++));
    if (const auto* copy = std::get_if<Copy>(&step)) {
      int64_t bytes = program.values[static_cast<size_t>(copy->to)].bytes;
      costs.push_back({.kernel = "copy",
                       .bytes_read = bytes,
                       .bytes_written = bytes,
                       .reads = {copy->from},
                       .writes = {copy->to},
                       .only_moves = true});
    }
  });
  std::vector<int64_t> positions = timeline_of(program).positions;
  for (size_t i = 0; i < costs.size(); ++i) costs[i].position = positions[i];
  return costs;
}

}  // namespace dlcc::lower
