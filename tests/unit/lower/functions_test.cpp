// Global functions: large functions with several equal call sites become functions of the program, the others are
// inlined.
#include <doctest/doctest.h>

#include <algorithm>

#include "lower/check_plan.h"
#include "lower/parse_program.h"
#include "lower/plan.h"
#include "lower/program_text.h"
#include "lower/steps.h"
#include "lower/verify.h"
#include "lower/walk.h"
#include "lowering.h"
#include "program_builder.h"
#include "relay/shared_calls.h"

namespace dlcc::lower {
namespace {

// A function of `operations` operations that are not fused.
std::string function(const std::string& name, int64_t operations, const std::string& type = "Tensor[(4, 6), float32]",
                     const std::string& more_params = "", const std::string& first = "%x") {
  std::string body = fmt::format("def @{}(%x: {}{}) {{\n  let %v0 = nn.softmax({});\n", name, type, more_params, first);
  for (int64_t k = 1; k < operations; ++k) body += fmt::format("  let %v{} = nn.softmax(%v{});\n", k, k - 1);
  return body + fmt::format("  %v{}\n}}\n", operations - 1);
}

size_t calls_in(const Function& f) {
  size_t count = 0;
  for_each_function_call(f.body, [&](const Call&) { ++count; });
  return count;
}

std::string error_of(const std::string& text) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {}, d);
  REQUIRE_MESSAGE(module, d.str());
  CHECK_FALSE(lower(after_passes(*module, {"fuse"}), machines, {}, d));
  return d.str();
}

constexpr int64_t large = relay::least_operations;

}  // namespace

TEST_CASE("a large function with two call sites is called, others are inlined") {
  const std::string twice = "def @main(%x: Tensor[(4, 6), float32]) { @f(@f(%x) * 2f) }";
  const std::string once = "def @main(%x: Tensor[(4, 6), float32]) { @f(%x * 2f) }";
  Program called = lowered(function("f", large) + twice);
  CHECK(called.functions.size() == 1);
  CHECK(calls_in(called) == 2);
  CHECK(count_of<Invoke>(called) == 1);
  CHECK(lowered(function("f", large - 1) + twice).functions.empty());
  CHECK(lowered(function("f", large) + once).functions.empty());
}

TEST_CASE("the operations of a function include those inlined into it") {
  const std::string main = "def @main(%x: Tensor[(4, 6), float32]) { @outer(@outer(%x)) }";
  const std::string outer = "def @outer(%x: Tensor[(4, 6), float32]) { @inner(@inner(%x)) }";
  Program small = lowered(function("inner", large / 2) + outer + main);
  REQUIRE(small.functions.size() == 1);
  CHECK(small.functions[0].name == "outer");
  Program big = lowered(function("inner", large) + outer + main);  // then @outer has two operations
  REQUIRE(big.functions.size() == 1);
  CHECK(big.functions[0].name == "inner");
  CHECK(calls_in(big) == 4);
}

TEST_CASE("a chain of functions, each calling the next twice, does not grow exponentially") {
  std::string text = function("f30", large);
  for (int k = 29; k >= 0; --k)
    text += fmt::format("def @f{}(%x: Tensor[(4, 6), float32]) {{ @f{}(@f{}(%x)) }}\n", k, k + 1, k + 1);
  Diagnostics d;
  auto module = frontends::import_relay(text + "def @main(%x: Tensor[(4, 6), float32]) { @f0(%x) }", {}, d);
  REQUIRE_MESSAGE(module, d.str());
  auto program = lower(after_passes(*module, {"fuse"}), machines, {}, d);
  REQUIRE_MESSAGE(program, d.str());
  CHECK_MESSAGE(verify(*program, d), d.str());
  CHECK(program->functions.size() > 1);
  CHECK(program->functions.size() < 15);
  int64_t bytes = 0;
  for (const StepCost& cost : step_costs(*program)) bytes += cost.bytes_written;
  CHECK(bytes == (int64_t{1} << 30) * large * 4 * 6 * 4);
}

TEST_CASE("calls with different types or constants have different functions") {
  Program types = lowered(function("f", large, "Tensor[(k, 6), float32]") +
                          "def @main(%x: Tensor[(4, 6), float32], %y: Tensor[(2, 6), float32]) {\n"
                          "  (@f(%x), @f(%y), @f(%x + 1f))\n}");
  CHECK(types.functions.size() == 2);
  CHECK(calls_in(types) == 3);

  const std::string scaled = function("f", large, "Tensor[(4, 6), float32]", ", %s: float32", "%x * %s");
  Program constants = lowered(scaled +
                              "def @main(%x: Tensor[(4, 6), float32], %t: float32) {\n"
                              "  (@f(%x, 2f), @f(%x + 1f, 2f), @f(%x, 3f), @f(%x + 1f, 3f), @f(%x, %t))\n}");
  REQUIRE(constants.functions.size() == 2);
  CHECK(constants.functions[0].inputs.size() == 1);
  CHECK(calls_in(constants) == 4);
}

TEST_CASE("calls whose operands and results are tuples, repeated values, constants or operands") {
  Program p = lowered(R"(
    def @pair(%p: (Tensor[(4, 6), float32], Tensor[(4, 6), float32]), %z: Tensor[(4, 6), float32]) {
      let %a = @large(%p.0);
      let %b = @large(%p.1);
      (%z, (%a, %b, %a), 2f)
    })" + function("large", large) +
                      R"(def @main(%x: Tensor[(4, 6), float32]) {
      let %r = @pair((%x, %x), %x);
      let %q = %r.1;
      (%r.0, %q.0 + %q.1, %q.2 * %r.2)
    })");
  CHECK(p.functions.size() == 1);
}

TEST_CASE("functions in loops and branches, with scalars at the call") {
  Program p = lowered(function("f", large) + R"(def @main(%x: Tensor[(4, 6), float32], %n: int64, %c: bool) {
    let %loop = fn (%i: int64, %y: Tensor[(4, 6), float32]) -> Tensor[(4, 6), float32] {
      if (less(%i, %n)) { %loop(%i + 1i64, @f(%y) + cast(%i, dtype="float32")) } else { %y }
    };
    let %y = %loop(0i64, %x);
    if (%c) { @f(%y * 2f) } else { %y }
  })");
  CHECK(p.functions.size() == 1);

  const std::string at =
      function("g", large, "Tensor[(4, 6), float32]", ", %i: int64", "%x * cast(%i, dtype=\"float32\")");
  Program scalar = lowered(at + R"(def @main(%x: Tensor[(4, 6), float32]) {
    let %loop = fn (%i: int64, %y: Tensor[(4, 6), float32]) -> Tensor[(4, 6), float32] {
      if (less(%i, 3i64)) { %loop(%i + 1i64, @g(@g(%y, %i), %i)) } else { %y }
    };
    %loop(0i64, %x)
  })");
  CHECK(scalar.functions.empty());
}

TEST_CASE("a violated requirement in a function ends the run with its status") {
  lowered(function("f", large, "Tensor[(4, 6), float32]", ", %at: Tensor[(1), int64]", "take(%x, %at + 7i64, axis=0)") +
          "def @main(%x: Tensor[(4, 6), float32], %at: Tensor[(1), int64]) { (@f(%x, %at), @f(%x + 1f, %at)) }");
}

TEST_CASE("sizes that a function requires are checked before the run, or in the arm that calls it") {
  const std::string image = "Tensor[(1, 1, h, 4), float32]";
  const std::string f = function("f", large, image, "", "nn.max_pool2d(%x, pool_size=[5, 1])");
  auto program = [&](const std::string& main) {
    Diagnostics d;
    auto module = frontends::import_relay(f + "def @main(%x: " + image + ", %c: bool) { " + main + " }", {}, d);
    REQUIRE_MESSAGE(module, d.str());
    auto lowered = lower(after_passes(*module, {"require-sizes", "fuse"}), machines, {}, d);
    REQUIRE_MESSAGE(lowered, d.str());
    CHECK_MESSAGE(verify(*lowered, d), d.str());
    CHECK(check_storage(*lowered, plan_storage(*lowered)) == "");
    CHECK(lowered->functions.size() == 1);
    return std::move(*lowered);
  };
  auto checks_in = [](const Region& region) {
    size_t count = 0;
    for_each_step(region, [&](const Step& step) { count += std::holds_alternative<CheckSize>(step); });
    return count;
  };
  const Program always = program("@f(%x) + @f(exp(%x))");
  CHECK(str(always.checked_sizes) == "(h - 5)");
  CHECK(checks_in(always.body) + checks_in(always.functions[0].body) == 0);
  const Program sometimes = program("if (%c) { sum(@f(%x) + @f(exp(%x))) } else { sum(full(2f, shape=[h - 4, 2])) }");
  CHECK(sometimes.checked_sizes.empty());
  CHECK(checks_in(sometimes.functions[0].body) == 0);
  const auto& branch = std::get<std::shared_ptr<Branch>>(sometimes.body.steps.back());
  CHECK(checks_in(branch->then_region) > 0);
  CHECK(checks_in(branch->else_region) > 0);

  const StoragePlan plan = plan_storage(sometimes);
  const std::string text = print(sometimes, &plan);
  CHECK(text.find("  check 0 <= h - 5 <= 2^40\n  run {") != std::string::npos);
  Diagnostics d;
  const auto parsed = parse_program(text, "p", d);
  REQUIRE_MESSAGE(parsed, d.str() << text);
  CHECK(print(parsed->program, &*parsed->plan) == text);

  Program unguarded = sometimes;
  auto without = std::make_shared<Branch>(*branch);
  std::erase_if(without->then_region.steps, [](const Step& s) { return std::holds_alternative<CheckSize>(s); });
  unguarded.body.steps.back() = without;
  CHECK(check_storage(unguarded, plan_storage(unguarded)).find("does not admit these sizes") != std::string::npos);
}

TEST_CASE("calls with operands of data-dependent size are inlined") {
  Program p = lowered(function("f", large, "Tensor[(k, 2), int64]", "", "cast(%x, dtype=\"float32\")") + R"(
    def @main(%x: Tensor[(4, 6), float32]) {
      let %found = nonzero(%x);
      let %all = prefix(%found.0, %found.1);
      (@f(%all), @f(%all + 1i64), @f(%found.0), @f(%found.0 + 1i64))
    })");
  CHECK(p.functions.size() == 1);
  CHECK(calls_in(p) == 2);
}

TEST_CASE("a function whose branch defines sizes is inlined") {
  auto program = [](const std::string& rows) {
    const std::string branch =
        "def @g(%x: Tensor[(4, 6), float32], %c: bool) {\n  let %y = @f(%x);\n" +
        fmt::format("  let %z = if (%c) {{ strided_slice(%y, begin=[0, 0], end=[{}, 6]) }} ", rows) +
        "else { %y };\n  sum(%z, axis=[0])\n}\n";
    return lowered(function("f", large - 1) + branch +
                   "def @main(%x: Tensor[(4, 6), float32], %c: bool) { @g(%x, %c) + @g(%x * 2f, %c) }");
  };
  const Program different = program("2");
  CHECK(different.functions.empty());
  CHECK(different.data_sizes.size() == 2);
  const Program equal = program("4");
  REQUIRE(equal.functions.size() == 1);
  CHECK(equal.functions[0].name == "g");
}

TEST_CASE("operations and steps of functions count once for each call") {
  Program p = lowered(R"(
    def @layer(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) { nn.softmax(nn.matmul(%x, %w)) }
    def @block(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {
      let %a = @layer(@layer(@layer(@layer(%x, %w), %w), %w), %w);
      @layer(@layer(@layer(@layer(%a, %w), %w), %w), %w)
    }
    def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) { (@block(%x, %w), @block(%x + 1f, %w)) })");
  REQUIRE(p.functions.size() == 1);
  CHECK(total_macs(p) == 2 * 8 * 4 * 8 * 8);
  CHECK(count_steps(p) == 1 + 2 + 16);  // the addition, the calls, and the function's
  CHECK(first_step(p, 0) == 3);
  const std::vector<StepCost> costs = step_costs(p);
  REQUIRE(costs.size() == 17);
  CHECK(costs[1].number == 3);
  CHECK(costs[1].function == 0);
  CHECK(costs[1].flops == 2 * 2 * 4 * 8 * 8);
}

TEST_CASE("recursion and deep nesting are errors with a location") {
  CHECK(error_of("def @f(%x: float32) -> float32 { @g(%x) }\ndef @g(%x: float32) -> float32 { @f(%x) }\n"
                 "def @main(%x: float32) -> float32 { @f(%x) }")
            .find("recursion of several functions cannot be compiled") != std::string::npos);
  std::string text;
  for (int k = 0; k < 2100; ++k)
    text += fmt::format("def @f{}(%x: float32) -> float32 {{ tanh(@f{}(%x)) }}\n", k, k + 1);
  text += "def @f2100(%x: float32) -> float32 { %x }\ndef @main(%x: float32) -> float32 { @f0(%x) }";
  CHECK(error_of(text).find("functions call each other more than 2000 levels deep") != std::string::npos);
}

TEST_CASE("inlining a chain of functions that cannot be called is limited by an error") {
  std::string text =
      function("f20", large, "Tensor[(4, 6), float32]", ", %i: int64", "%x * cast(%i, dtype=\"float32\")");
  for (int k = 19; k >= 0; --k)
    text += fmt::format("def @f{0}(%x: Tensor[(4, 6), float32], %i: int64) {{ @f{1}(@f{1}(%x, %i), %i) }}\n", k, k + 1);
  text += R"(def @main(%x: Tensor[(4, 6), float32]) {
    let %loop = fn (%i: int64, %y: Tensor[(4, 6), float32]) -> Tensor[(4, 6), float32] {
      if (less(%i, 3i64)) { %loop(%i + 1i64, @f0(%y, %i)) } else { %y }
    };
    %loop(0i64, %x)
  })";
  CHECK(error_of(text).find("calls of functions expand to more than") != std::string::npos);
}

TEST_CASE("inlining a chain of local functions is limited by an error") {
  std::string text = "def @main(%x: Tensor[(4), float32]) {\n  let %f0 = fn (%x: Tensor[(4), float32]) { tanh(%x) };\n";
  for (int k = 1; k <= 20; ++k)
    text += fmt::format("  let %f{0} = fn (%x: Tensor[(4), float32]) {{ %f{1}(%f{1}(%x)) }};\n", k, k - 1);
  CHECK(error_of(text + "  %f20(%x)\n}").find("calls of functions expand to more than") != std::string::npos);
}

TEST_CASE("a local function has the sizes of the function that makes it, wherever it is called") {
  // @make is called with n = 6. @both is called with n = 6 and m = 3, and calls @apply, whose n is 3.
  const std::string local = R"(
    fn (%s: Tensor[(4), float32]) -> Tensor[(4), float32] { sum(%x * %s, axis=[0]) })";
  lowered("def @make(%x: Tensor[(n, 4), float32]) -> fn (Tensor[(4), float32]) -> Tensor[(4), float32] {" + local + R"(}
    def @main(%x: Tensor[(6, 4), float32], %y: Tensor[(3, 4), float32]) {
      let %f = @make(%x);
      %f(sum(%y, axis=[0]))
    })");
  lowered("def @both(%x: Tensor[(n, 4), float32], %y: Tensor[(m, 4), float32]) { let %f = " + local +
          R"(; @apply(%f, %y) }
    def @apply(%f: fn (Tensor[(4), float32]) -> Tensor[(4), float32], %y: Tensor[(n, 4), float32])
        -> Tensor[(4), float32] {
      %f(sum(%y, axis=[0]))
    }
    def @main(%x: Tensor[(6, 4), float32], %y: Tensor[(3, 4), float32]) { @both(%x, %y) })");
}

TEST_CASE("the verifier refuses wrong calls") {
  auto refused = [](const std::function<void(Program&, Call&)>& change) {
    ProgramBuilder b;
    Function f{.name = "f"};
    std::swap(static_cast<Function&>(b.program), f);
    const ValueId from = b.input(8), to = b.output(4);
    b.program.body.steps = {b.call({from}, {to})};
    std::swap(static_cast<Function&>(b.program), f);
    b.program.functions = {f};
    const ValueId in = b.input(8), out = b.output(4);
    Call call{.function = 0, .operands = {in}, .results = {out}};
    change(b.program, call);
    b.program.body.steps = {call};
    Diagnostics d;
    return verify(b.program, d) ? "" : d.str();
  };
  CHECK(refused([](Program&, Call&) {}).empty());
  CHECK(refused([](Program&, Call& c) { c.function = 1; }).find("no function 1") != std::string::npos);
  CHECK(refused([](Program&, Call& c) { c.operands.clear(); }).find("0 operands for 1 of @f") != std::string::npos);
  CHECK(refused([](Program&, Call& c) { c.results = {0}; }).find("%0 has uint8 and 8 bytes, @f takes uint8 and 4") !=
        std::string::npos);
  CHECK(refused([](Program& p, Call&) { p.functions[0].body.steps = {Call{.function = 0}}; }).find("no function 0") !=
        std::string::npos);
  CHECK(refused([](Program& p, Call&) { p.functions[0].outputs = {0}; }).find("%0 is not the output 0") !=
        std::string::npos);
}

}  // namespace dlcc::lower
