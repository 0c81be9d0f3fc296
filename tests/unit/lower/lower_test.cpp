// Lowered programs agree with the definitions of their modules: Relay text is fused, laid out and lowered, its storage
// plan is checked, and the evaluated program is compared with the evaluated module.
#include "lower/lower.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "frontends/frontend.h"
#include "lower/check_plan.h"
#include "lower/evaluate.h"
#include "relay/evaluate.h"
#include "relay/passes/passes.h"

namespace dlcc::lower {
namespace {

const std::vector<tensor::Machine> machines = {{.vector_bytes = 16, .vector_registers = 16},
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

// Float32 numbers that differ from element to element; true for bool inputs.
Constant example(const relay::Type& type) {
  const auto* t = relay::as<relay::TensorType>(type);
  REQUIRE(t);
  std::vector<int64_t> shape = static_shape(t->shape);
  int64_t count = product(t->shape).value();
  if (t->dtype == dtype::boolean)
    return Constant::of<uint8_t>(dtype::boolean, shape, std::vector<uint8_t>(static_cast<size_t>(count), 1));
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

// The lowered program, after its results were compared.
Program lowered(const std::string& text) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {}, d);
  REQUIRE_MESSAGE(module, d.str());
  std::vector<Constant> inputs;
  for (const relay::Var& p : module->functions.at("main").params) inputs.push_back(example(p->type));
  auto expected = relay::evaluate(*module, inputs, tensor::Precision::specified, d);
  REQUIRE_MESSAGE(expected, d.str());
  auto program = lower(after_passes(*module, {"fuse", "eliminate-dead-code", "assign-layouts"}), machines, {}, d);
  REQUIRE_MESSAGE(program, d.str());
  CHECK(check_storage(*program, plan_storage(*program)) == "");
  for (size_t level = 0; level < machines.size(); ++level) {
    auto got = evaluate(*program, inputs, level);
    REQUIRE(got.status == expected->status);
    REQUIRE(got.results.size() == expected->results.size());
    for (size_t k = 0; k < got.results.size(); ++k) check_close(got.results[k], expected->results[k]);
  }
  return std::move(*program);
}

size_t count(const Program& program, Storage storage) {
  return static_cast<size_t>(std::ranges::count(program.values, storage, &Value::storage));
}

}  // namespace

TEST_CASE("views of views add their offsets") {
  Program p = lowered(R"(def @main(%x: Tensor[(6, 4), float32]) {
    let %e = exp(%x);
    let %rows = strided_slice(%e, begin=[2, 0], end=[6, 4]);
    let %row = strided_slice(%rows, begin=[1, 0], end=[2, 4]);
    let %flat = reshape(%row, newshape=[4]);
    (nn.relu(%flat), %rows)
  })");
  CHECK(count(p, Storage::view) >= 1);
}

TEST_CASE("results that are inputs, constants, views, or the same twice") {
  lowered(R"(def @main(%x: Tensor[(2, 3), float32]) {
    let %y = tanh(%x);
    (%x, %y, %y, reshape(%y, newshape=[6]), 2.5f, strided_slice(%y, begin=[1, 0], end=[2, 3]))
  })");
}

TEST_CASE("branches read values from outside and leave their results in one temporary") {
  Program p = lowered(R"(def @main(%x: Tensor[(3, 5), float32], %c: bool) {
    let %outer = exp(%x);
    let %r = if (%c) { let %a = tanh(%outer); (%a, %outer) } else { (%outer, nn.relu(%x)) };
    %r.0 + %r.1 * %outer
  })");
  CHECK(std::ranges::any_of(p.body.steps,
                            [](const Step& s) { return std::holds_alternative<std::shared_ptr<Branch>>(s); }));
}

TEST_CASE("images in blocks of channels, with halos, read by all kinds of operators") {
  lowered(
      R"(def @main(%x: Tensor[(1, 3, 9, 7), float32], %w: Tensor[(20, 3, 3, 3), float32], %v: Tensor[(24, 20, 3, 3), float32]) {
    let %a = nn.relu(nn.conv2d(%x, %w, padding=[1, 1]));
    let %b = nn.conv2d(%a, %v, strides=[2, 2], padding=[1, 1]);
    let %p = nn.max_pool2d(%a, pool_size=[3, 3], strides=[2, 2], padding=[1, 1]);
    let %t = transpose(%p, axes=[0, 2, 3, 1]);
    (%b, %t, mean(%a, axis=[2, 3]), nn.avg_pool2d(%b, pool_size=[2, 2], padding=[1, 0]))
  })");
}

}  // namespace dlcc::lower
