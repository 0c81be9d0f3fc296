// Outlined loop nests: the text form, the evaluator, and the passes that go into them.
#include <doctest/doctest.h>

#include "support/constant.h"
#include "tensor/evaluate.h"
#include "tensor/parse.h"
#include "tensor/passes/parallel_loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

Kernel parsed(const std::string& body) {
  Diagnostics d;
  auto module = parse("kernel @k(read x: f32[8], write y: f32[8]) {\n" + body + "}\n", "t", d);
  REQUIRE_MESSAGE(module, d.str());
  return module->kernels[0];
}

const std::string nest =
    "outline {\n"
    "  for i in 4 {\n"
    "    outline {\n"
    "      for j in 2 {\n"
    "        y[2 * i + j] = x[7 - (2 * i + j)]\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "}\n";

}  // namespace

TEST_CASE("an outlined nest is printed, parsed and evaluated as its body") {
  const Kernel kernel = parsed(nest);
  CHECK(print(kernel.body) == nest);
  const Constant x = Constant::of<float>(dtype::f32, {8}, {0, 1, 2, 3, 4, 5, 6, 7});
  const EvaluationResult result = evaluate(kernel, std::vector{x});
  CHECK(result.status == Status::ok);
  for (int64_t k = 0; k < 8; ++k) CHECK(result.results[0].number_at(k) == static_cast<double>(7 - k));
  auto iterations = [&](const std::string& body) { return CompiledKernel(parsed(body)).iterations(std::vector{x}); };
  CHECK(iterations(nest) == iterations("for i in 4 { for j in 2 { y[2 * i + j] = x[0] } }"));
  CHECK(print(parsed("outline { } y[0] = 1.0").body) == "y[0] = 1.0\n");
}

TEST_CASE("passes change statements within outlined nests") {
  const Kernel kernel = parsed("for n in 8 { outline { for i in 8 { y[i] = x[n] } } }");
  const For& outer = *as<For>(kernel.body);
  CHECK(print(substitute(outer.body, {{outer.var, Expr(3)}})) ==
        "outline {\n"
        "  for i in 8 {\n"
        "    y[i] = x[3]\n"
        "  }\n"
        "}\n");
  CHECK(substitute(outer.body, {{make_var("other"), Expr(3)}}) == outer.body);
  const Stmt renamed = with_unique_names(kernel.body);
  CHECK(print(renamed) == print(kernel.body));
  CHECK(as<Outline>(as<For>(renamed)->body)->body != as<Outline>(outer.body)->body);
  CHECK(free_in(outer.body).buffers.size() == 2);
  CHECK(free_in(outer.body).variables == std::vector{outer.var});
  auto simplified = [](const std::string& body) { return print(simplify(parsed(body + " y[0] = 1.0").body)); };
  CHECK(simplified("outline { for i in 8 { y[i] = x[i + 0 * i] } }") ==
        "outline {\n"
        "  for i in 8 {\n"
        "    y[i] = x[i]\n"
        "  }\n"
        "}\n"
        "y[0] = 1.0\n");
  CHECK(simplified("outline { for i in 0 { y[i] = x[i] } }") == "y[0] = 1.0\n");
}

TEST_CASE("the loops of an outlined nest run on one thread, and its call has a cost") {
  const Machine machine;
  auto chosen = [&](const std::string& body) {
    int parallel = 0;
    for_each_stmt(choose_parallel_loops(parsed(body).body, 2, machine),
                  [&](const Stmt& s) { parallel += as<For>(s) && as<For>(s)->kind == LoopKind::parallel; });
    return parallel;
  };
  const std::string loops = "parallel i in 8 { for j in 1000000 { y[i] = x[i] } }";
  CHECK(chosen(loops) == 1);
  CHECK(chosen("outline { " + loops + " }") == 0);
  auto cost = [&](const std::string& body) { return cost_of(parsed(body).body, {}, machine); };
  CHECK(cost("outline { y[0] = x[0] }") == cost("y[0] = x[0]") + machine.call_cost);
}
