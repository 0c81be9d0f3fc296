#include "harness.h"

#include <cmath>

#include "tensor/evaluate.h"

namespace dlcc::test {

using namespace tensor;

targets::Target target_named(const std::string& name, const std::string& mcpu) {
  Diagnostics diagnostics;
  auto target = targets::find_target(name, mcpu, "", diagnostics);
  INFO(diagnostics.str());
  REQUIRE(target);
  return *target;
}

KernelObject wrap(const Kernel& kernel, const targets::Target& target, const std::string& prefix, const Sizes& sizes) {
  KernelObject result;
  std::map<std::string, Dim> numbers(sizes.begin(), sizes.end());
  lower::Program& program = result.program;
  lower::Invoke call{.kernel = 0, .node = "node of " + kernel.name};
  for (const Var& v : kernel.scalars) call.scalars.push_back(Expr(sizes.at(v->name)));
  for (const Parameter& p : kernel.params) {
    Shape shape = p.buffer->shape;
    for (Dim& d : shape) d = d.substitute(numbers);
    lower::Value value;
    value.name = p.buffer->name;
    value.type = p.buffer->type;
    value.shape = shape;
    value.bytes = lower::bytes_of(value.type, shape);
    auto id = static_cast<lower::ValueId>(program.values.size());
    emit::TensorInterface tensor{value.name, value.name, value.type, value.shape};
    if (p.access == Access::read) {
      value.storage = lower::Storage::input;
      value.index = static_cast<int>(program.inputs.size());
      program.inputs.push_back(id);
      result.interface.inputs.push_back(tensor);
    } else if (p.access == Access::write) {
      value.storage = lower::Storage::output;
      value.index = static_cast<int>(program.outputs.size());
      program.outputs.push_back(id);
      result.interface.outputs.push_back(tensor);
    }
    program.values.push_back(value);
    call.operands.push_back(id);
    int64_t offset = -1;
    if (value.storage == lower::Storage::temporary) {
      offset = result.plan.arena_bytes;
      result.plan.arena_bytes += (value.bytes.value() + 63) / 64 * 64;
    }
    result.plan.offsets.push_back(offset);
  }
  program.kernels.push_back({kernel.name, std::vector<Kernel>(target.levels.size(), kernel)});
  program.body.steps.emplace_back(call);
  result.interface.prefix = prefix;
  result.interface.arena_bytes = result.plan.arena_bytes;
  result.interface.provenance = "a test";
  return result;
}

namespace {

targets::Target changed_target(const std::string& mcpu, const ChangeMachine& change) {
  targets::Target target = target_named("x86-64", mcpu);
  if (change)
    for (targets::CodeLevel& level : target.levels) change(level.machine);
  return target;
}

}  // namespace

KernelObject compile(const Kernel& kernel, const std::string& mcpu, const std::string& prefix, int threads,
                     const ChangeMachine& change, const Sizes& sizes) {
  targets::Target target = changed_target(mcpu, change);
  KernelObject result = wrap(kernel, target, prefix, sizes);
  result.program.threads = threads;
  result.object = targets::generate_object(result.program, result.plan, result.interface, target, {}).bytes();
  return result;
}

std::string assembly(const Kernel& kernel, const std::string& mcpu, const ChangeMachine& change, int threads,
                     const Sizes& sizes) {
  targets::Target target = changed_target(mcpu, change);
  KernelObject wrapped = wrap(kernel, target, "net", sizes);
  wrapped.program.threads = threads;
  return targets::generate_listing(wrapped.program, wrapped.plan, wrapped.interface, target, {},
                                   targets::Listing::assembly);
}

std::vector<std::string> runnable_levels() {
  std::vector<std::string> result;
  Buffer y = make_buffer("y", dtype::f32, {1});
  Kernel nothing{"nothing", {{y, Access::write}}, store(y, {0}, literal(dtype::f32, 1.0))};
  for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    KernelObject compiled = compile(nothing, level);
    Diagnostics diagnostics;
    auto ran = targets::run_object({compiled.object, &compiled.interface, {}}, diagnostics);
    INFO(diagnostics.str());
    REQUIRE(ran);
    if (ran->status == 0) result.push_back(level);
  }
  return result;
}

namespace {

// Equal bits, except that any NaN equals any other.
bool equal_numbers(const Constant& a, const Constant& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  for (int64_t i = 0; i < a.count(); ++i) {
    if (!is_float(a.dtype())) {
      if (a.integer_at(i) != b.integer_at(i)) return false;
      continue;
    }
    double x = a.number_at(i), y = b.number_at(i);
    if (x == x || y == y)
      if (x != y || std::signbit(x) != std::signbit(y)) return false;
  }
  return true;
}

}  // namespace

targets::RunResult run(const Kernel& kernel, const std::vector<Constant>& inputs, int threads,
                       const ChangeMachine& change, const Sizes& sizes) {
  static const std::vector<std::string> levels = runnable_levels();
  std::optional<targets::RunResult> first;
  for (const std::string& level : levels) {
    KernelObject compiled = compile(kernel, level, "net", threads, change, sizes);
    Diagnostics diagnostics;
    auto ran = targets::run_object({compiled.object, &compiled.interface, inputs}, diagnostics);
    INFO(level);
    INFO(diagnostics.str());
    REQUIRE(ran);
    if (!first) first = ran;
    CHECK(ran->status == first->status);
    for (size_t i = 0; i < ran->outputs.size(); ++i) CHECK(equal_numbers(ran->outputs[i], first->outputs[i]));
  }
  REQUIRE(first);
  std::vector<Constant> args = inputs;
  for (const Var& v : kernel.scalars) args.push_back(Constant::of<int64_t>(dtype::i64, {}, {sizes.at(v->name)}));
  EvaluationResult evaluated = evaluate(kernel, args);
  CHECK(static_cast<int>(evaluated.status) == first->status);
  for (size_t i = 0; i < first->outputs.size(); ++i) CHECK(equal_numbers(evaluated.results[i], first->outputs[i]));
  return *first;
}

}  // namespace dlcc::test
