#include "lower/steps.h"

#include "lower/instantiate.h"
#include "lower/largest_size.h"
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
  StepCost cost{.number = number, .node = call.node, .kernel = kernel.name, .flops = 2 * call.macs.value()};
  for (size_t k = 0; k < call.operands.size(); ++k) {
    int64_t bytes = program.values[static_cast<size_t>(call.operands[k])].bytes.value();
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
  cost.only_moves = call.macs == Dim(0) && variant.body && only_moves(variant);
  return cost;
}

}  // namespace

int count_steps(const Program& program) {
  int count = 0;
  for_each_call(program.body, [&](const Invoke&) { ++count; });
  return count;
}

namespace {

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

// Calls `visit` on every step, with the number of times that it runs: the product of the constant trip counts of the
// loops around it.
void for_each_run(const Region& region, int64_t runs, const std::function<void(const Step&, int64_t)>& visit) {
  for (const Step& step : region.steps) {
    visit(step, runs);
    if (const auto* branch = std::get_if<std::shared_ptr<Branch>>(&step)) {
      for_each_run((*branch)->then_region, runs, visit);
      for_each_run((*branch)->else_region, runs, visit);
    }
    if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&step)) {
      const int64_t inside = times(runs, constant_trip_count(**loop).value_or(1));
      for_each_run((*loop)->test, inside, visit);
      for_each_run((*loop)->body, inside, visit);
    }
  }
}

}  // namespace

int64_t total_macs(const Program& program) {
  if (has_symbols(program))
    return total_macs(instantiate(program, with_largest_data_sizes(program, typical_sizes(program))));
  int64_t total = 0;
  for_each_run(program.body, 1, [&](const Step& step, int64_t runs) {
    const auto* call = std::get_if<Invoke>(&step);
    if (call && __builtin_add_overflow(total, times(runs, call->macs.value()), &total)) total = INT64_MAX;
  });
  return total;
}

std::vector<StepCost> step_costs(const Program& program) {
  if (has_symbols(program))
    return step_costs(instantiate(program, with_largest_data_sizes(program, typical_sizes(program))));
  std::vector<StepCost> costs;
  int number = 0;
  for_each_run(program.body, 1, [&](const Step& step, int64_t runs) {
    if (const auto* call = std::get_if<Invoke>(&step)) {
      costs.push_back(cost_of(program, *call, number++));
    } else if (const auto* copy = std::get_if<Copy>(&step)) {
      int64_t bytes = program.values[static_cast<size_t>(copy->to)].bytes.value();
      costs.push_back({.kernel = "copy",
                       .bytes_read = bytes,
                       .bytes_written = bytes,
                       .reads = {copy->from},
                       .writes = {copy->to},
                       .only_moves = true});
    } else {
      return;
    }
    StepCost& cost = costs.back();
    for (int64_t* amount : {&cost.flops, &cost.bytes_read, &cost.bytes_written}) *amount = times(*amount, runs);
  });
  std::vector<int64_t> positions = timeline_of(program).positions;
  for (size_t i = 0; i < costs.size(); ++i) costs[i].position = positions[i];
  return costs;
}

}  // namespace dlcc::lower
