#include "lowering.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "lower/check_plan.h"
#include "lower/evaluate.h"
#include "lower/verify.h"
#include "relay/evaluate.h"
#include "relay/passes/passes.h"

namespace dlcc::lower {

extern const std::vector<tensor::Machine> machines = {{.vector_bytes = 16, .vector_registers = 16},
                                                      {.vector_bytes = 64, .vector_registers = 32}};

relay::Module after_passes(relay::Module module, const std::vector<std::string>& names) {
  Diagnostics diagnostics;
  relay::PassContext context{.diagnostics = &diagnostics, .channel_block = 16};
  for (const std::string& name : names)
    for (const relay::PassInfo& pass : relay::all_passes())
      if (pass.name == name) module = pass.run(std::move(module), context);
  CHECK_MESSAGE(!diagnostics.has_errors(), diagnostics.str());
  return module;
}

namespace {

// Float32 numbers that differ from element to element; true for bool inputs, 3 for int64. All symbols are 4.
Constant example(const relay::Type& type) {
  const auto* t = relay::as<relay::TensorType>(type);
  REQUIRE(t);
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (const Dim& d : t->shape) {
    std::map<std::string, int64_t> sizes;
    for (const Symbol& s : d.symbols()) sizes.emplace(s.name, 4);
    shape.push_back(d.evaluate(sizes).value());
    count *= shape.back();
  }
  if (t->dtype == dtype::boolean)
    return Constant::of<uint8_t>(dtype::boolean, shape, std::vector<uint8_t>(static_cast<size_t>(count), 1));
  if (t->dtype == dtype::i64)
    return Constant::of<int64_t>(dtype::i64, shape, std::vector<int64_t>(static_cast<size_t>(count), 3));
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 37 % 101) / 16 - 3);
  return Constant::of<float>(dtype::f32, shape, values);
}

void check_close(const Constant& got, const Constant& expected) {
  REQUIRE(got.count() == expected.count());
  for (int64_t i = 0; i < got.count(); ++i) {
    CAPTURE(i);
    REQUIRE(std::abs(got.number_at(i) - expected.number_at(i)) <= 1e-4 * (1 + std::abs(expected.number_at(i))));
  }
}

}  // namespace

Program lowered(const std::string& text) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {}, d);
  REQUIRE_MESSAGE(module, d.str());
  std::vector<Constant> inputs;
  for (const relay::Var& p : module->functions.at("main").params) inputs.push_back(example(p->type));
  auto expected = relay::evaluate(*module, inputs, tensor::Precision::specified, d);
  REQUIRE_MESSAGE(expected, d.str());
  const auto passed =
      after_passes(*module, {"define-sizes", "require-sizes", "fuse", "eliminate-dead-code", "assign-layouts"});
  auto program = lower(passed, machines, {}, d);
  REQUIRE_MESSAGE(program, d.str());
  CHECK_MESSAGE(verify(*program, d), d.str());
  CHECK(check_storage(*program, plan_storage(*program)) == "");
  for (size_t level = 0; level < machines.size(); ++level) {
    auto got = evaluate(*program, inputs, level);
    REQUIRE(got.status == expected->status);
    if (got.status != tensor::Status::ok) continue;
    REQUIRE(got.results.size() == expected->results.size());
    for (size_t k = 0; k < got.results.size(); ++k) check_close(got.results[k], expected->results[k]);
  }
  return std::move(*program);
}

}  // namespace dlcc::lower
