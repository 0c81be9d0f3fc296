// Which CPU levels get code of their own, and kernels that are scheduled on several threads.
#include "lower/schedule_kernel.h"

#include <doctest/doctest.h>

#include "lower/program_text.h"
#include "lowering.h"
#include "tensor/parse.h"

namespace dlcc::lower {
namespace {

const tensor::Machine narrow = {.vector_bytes = 32, .byte_products = tensor::ByteProducts::pairs};
const tensor::Machine wide = {
    .vector_bytes = 64, .vector_registers = 32, .byte_products = tensor::ByteProducts::pairs};

tensor::Machine with_dot(tensor::Machine machine) {
  machine.byte_products = tensor::ByteProducts::dot;
  return machine;
}

std::vector<tensor::Kernel> variants(const std::string& function, std::vector<tensor::Machine> machines,
                                     bool may_share_code = true) {
  Diagnostics d;
  auto parsed = tensor::parse(function, "f", d);
  REQUIRE_MESSAGE(parsed, d.str());
  const tensor::TensorFunction& f = parsed->functions.at(0);
  tensor::ScheduleRequest request{f, std::vector<bool>(f.params.size()), {}, std::move(machines)};
  request.layouts.resize(f.params.size() + f.results.size());
  return schedule_kernel({.schedule = std::move(request), .may_share_code = may_share_code}).kernel.variants;
}

const char* const exponential = R"(tensor @f(x: f32[4096]) -> (y: f32[4096]) {
  y[i < 4096] = exp(x[i])
})";

}  // namespace

TEST_CASE("a level that differs in byte products only has the kernel of the level before it if there are no bytes") {
  auto own = [](const std::vector<tensor::Kernel>& v) { return v.at(1).body != v.at(2).body; };
  CHECK_FALSE(own(variants(exponential, {narrow, wide, with_dot(wide)})));
  CHECK(own(variants(exponential, {narrow, wide, with_dot(wide)}, false)));
  CHECK(own(variants(R"(tensor @f(x: u8[4096]) -> (y: f32[4096]) {
    y[i < 4096] = f32(x[i])
  })",
                     {narrow, wide, with_dot(wide)})));
  CHECK(variants(exponential, {narrow, with_dot(wide)}).size() == 2);
}

TEST_CASE("levels share code without vectors, unless they differ in fused multiply-adds") {
  auto count = [](const std::string& body, const std::vector<tensor::Machine>& machines) {
    Diagnostics d;
    auto module = frontends::import_relay("def @main(%x: Tensor[(64, 90), float32]) { " + body + " }", {}, d);
    REQUIRE_MESSAGE(module, d.str());
    auto program = lower(after_passes(*module, {"fuse", "eliminate-dead-code"}), machines, {}, d);
    REQUIRE_MESSAGE(program, d.str());
    return program->kernels.at(0).variants.size();
  };
  tensor::Machine without_fma = narrow;
  without_fma.has_fma = false;
  tensor::Machine larger_cache = narrow;
  larger_cache.l2_bytes *= 2;
  CHECK(count("topk(%x, k=3)", {narrow, wide}) == 1);
  CHECK(count("topk(%x, k=3)", {narrow, wide, with_dot(wide)}) == 1);
  CHECK(count("topk(%x, k=3)", {without_fma, wide}) == 2);
  CHECK(count("exp(%x)", {narrow, wide}) == 2);
  CHECK(count("exp(%x)", {narrow, larger_cache}) == 2);  // equal vectors, for which CPUs may have other instructions
}

TEST_CASE("the program does not depend on the number of threads that schedule kernels") {
  Diagnostics d;
  auto module = frontends::import_relay(R"(def @main(%x: Tensor[(1, 8, 20, 20), float32], %c: bool) {
    let %a = nn.max_pool2d(%x, pool_size=[3, 3], strides=[1, 1], padding=[1, 1, 1, 1]);
    let %b = if (%c) { nn.softmax(%a, axis=1) } else { exp(%a) };
    let %t = transpose(%b, axes=[0, 1, 3, 2]);
    (cumsum(%t, axis=2), nn.softmax(%t, axis=3), reshape(%t, newshape=[8, 400]))
  })",
                                        {}, d);
  REQUIRE_MESSAGE(module, d.str());
  const auto passed = after_passes(*module, {"fuse", "eliminate-dead-code", "assign-layouts"});
  auto text = [&](int jobs) {
    auto program = lower(passed, machines, {}, d, {}, jobs);
    REQUIRE_MESSAGE(program, d.str());
    return print(*program);
  };
  const std::string expected = text(1);
  CHECK(text(2) == expected);
  CHECK(text(5) == expected);
}

}  // namespace dlcc::lower
