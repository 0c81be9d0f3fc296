#include "lower/steps.h"

#include "lower/instantiate.h"
#include "lower/largest_size.h"
#include "lower/live_ranges.h"
#include "lower/walk.h"
#include "tensor/visit.h"

namespace dlcc::lower {

namespace {

// Whether a kernel only moves data: every stored value is a literal or a loaded element, apart from conversions of its
// type.
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

StepCost cost_of(const Program& program, const Function& function, const Invoke& call, int number) {
  const KernelVariants& kernel = program.kernels[static_cast<size_t>(call.kernel)];
  const tensor::Kernel& variant = kernel.variants.front();  // all variants have equal parameters
  StepCost cost{.number = number, .node = call.node, .kernel = kernel.name, .flops = 2 * call.macs.value()};
  for (size_t k = 0; k < call.operands.size(); ++k) {
    int64_t bytes = function.values[static_cast<size_t>(call.operands[k])].bytes.value();
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

int count_in(const Function& f) {
  int count = 0;
  for_each_call(f.body, [&](const Invoke&) { ++count; });
  for_each_function_call(f.body, [&](const Call&) { ++count; });
  return count;
}

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
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

// The number of times that each function runs. Callees have smaller indices than their callers.
std::vector<int64_t> runs_of_functions(const Program& program) {
  std::vector<int64_t> runs(program.functions.size(), 0);
  auto count_calls = [&](const Function& f, int64_t runs_of_f) {
    for_each_run(f.body, runs_of_f, [&](const Step& step, int64_t times_run) {
      if (const auto* call = std::get_if<Call>(&step))
        runs[static_cast<size_t>(call->function)] = plus(runs[static_cast<size_t>(call->function)], times_run);
    });
  };
  count_calls(program, 1);
  for (size_t k = program.functions.size(); k-- > 0;) count_calls(program.functions[k], runs[k]);
  return runs;
}

// For each function, the position of its first call in the program's timeline.
std::vector<int64_t> positions_of_functions(const Program& program) {
  std::vector<int64_t> first(program.functions.size(), -1);
  auto note = [&](const Call& call, int64_t at) {
    int64_t& known = first[static_cast<size_t>(call.function)];
    if (known < 0 || at < known) known = at;
  };
  const Timeline timeline = timeline_of(program);
  for (const auto& [at, call] : timeline.function_calls) note(*call, at);
  for (size_t k = program.functions.size(); k-- > 0;)
    for_each_function_call(program.functions[k].body, [&](const Call& call) { note(call, first[k]); });
  return first;
}

// Adds the kernel calls and copies of a function, the first of which has this number.
void add_costs(const Program& program, const Function& function, int64_t runs_of_function, int number,
               std::vector<StepCost>& list) {
  for_each_run(function.body, runs_of_function, [&](const Step& step, int64_t runs) {
    StepCost cost;
    if (const auto* call = std::get_if<Invoke>(&step)) {
      cost = cost_of(program, function, *call, number++);
    } else if (const auto* copy = std::get_if<Copy>(&step)) {
      int64_t bytes = function.values[static_cast<size_t>(copy->to)].bytes.value();
      cost = {.kernel = "copy",
              .bytes_read = bytes,
              .bytes_written = bytes,
              .reads = {copy->from},
              .writes = {copy->to},
              .only_moves = true};
    } else {
      number += std::holds_alternative<Call>(step);
      return;
    }
    for (int64_t* amount : {&cost.flops, &cost.bytes_read, &cost.bytes_written}) *amount = times(*amount, runs);
    list.push_back(std::move(cost));
  });
}

}  // namespace

int first_step(const Program& program, int function) {
  int count = 0;
  if (function >= 0) count = count_in(program);
  for (int k = 0; k < function; ++k) count += count_in(program.functions[static_cast<size_t>(k)]);
  return count;
}

int count_steps(const Program& program) { return first_step(program, static_cast<int>(program.functions.size())); }

int64_t total_macs(const Program& program) {
  if (has_symbols(program))
    return total_macs(instantiate(program, with_largest_data_sizes(program, typical_sizes(program))));
  int64_t total = 0;
  auto add = [&](const Function& f, int64_t runs_of_f) {
    for_each_run(f.body, runs_of_f, [&](const Step& step, int64_t runs) {
      if (const auto* call = std::get_if<Invoke>(&step)) total = plus(total, times(runs, call->macs.value()));
    });
  };
  const std::vector<int64_t> runs = runs_of_functions(program);
  add(program, 1);
  for (size_t k = 0; k < runs.size(); ++k) add(program.functions[k], runs[k]);
  return total;
}

std::vector<StepCost> step_costs(const Program& program) {
  if (has_symbols(program))
    return step_costs(instantiate(program, with_largest_data_sizes(program, typical_sizes(program))));
  std::vector<StepCost> costs;
  const std::vector<int64_t> runs = runs_of_functions(program);
  add_costs(program, program, 1, 0, costs);
  const std::vector<int64_t> positions = timeline_of(program).positions;
  for (size_t i = 0; i < costs.size(); ++i) costs[i].position = positions[i];
  const std::vector<int64_t> first_calls = positions_of_functions(program);
  for (size_t k = 0; k < runs.size(); ++k) {
    const size_t first = costs.size();
    add_costs(program, program.functions[k], runs[k], first_step(program, static_cast<int>(k)), costs);
    for (size_t c = first; c < costs.size(); ++c) {
      costs[c].function = static_cast<int>(k);
      costs[c].position = first_calls[k];
    }
  }
  return costs;
}

}  // namespace dlcc::lower
