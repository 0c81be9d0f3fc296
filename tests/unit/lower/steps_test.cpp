// The list of a program's steps: their numbers for profilers, operations and bytes.
#include "lower/steps.h"

#include <doctest/doctest.h>

#include "program_builder.h"

using namespace dlcc;
using namespace dlcc::lower;

TEST_CASE("steps are numbered in the order of the code, copies are not") {
  ProgramBuilder b;
  ValueId condition = b.input(1), x = b.input(8), w = b.constant(100), t = b.temporary(16), y = b.output(16);
  Invoke product = b.call({x, w}, {t}, {b.temporary(64), b.temporary(2)});
  product.macs = 50;
  product.node = "product";
  const tensor::Var c = flag();
  b.program.body.steps = {product, Read{c, condition}, if_else(c, {{b.call({t}, {y})}}, {{Copy{t, y}}}),
                          b.call({y}, {t})};
  CHECK(count_steps(b.program) == 3);
  CHECK(total_macs(b.program) == 50);

  std::vector<StepCost> costs = step_costs(b.program);
  REQUIRE(costs.size() == 4);
  CHECK(costs[0].number == 0);
  CHECK(costs[0].node == "product");
  CHECK(costs[0].flops == 100);
  CHECK(costs[0].position == 0);
  CHECK(costs[0].reads == std::vector<ValueId>{x, w});
  CHECK(costs[0].writes == std::vector<ValueId>{t});
  CHECK(costs[0].bytes_read == 108);
  CHECK(costs[0].bytes_written == 16);
  CHECK(costs[0].scratch_bytes == 66);
  CHECK(costs[0].scratch == "p3, p4");
  CHECK(costs[1].number == 1);
  CHECK(costs[1].position == 2);  // after the condition
  CHECK(costs[2].number == -1);
  CHECK(costs[2].bytes() == 32);
  CHECK(costs[2].reads == std::vector<ValueId>{t});
  CHECK(costs[2].only_moves);
  CHECK(costs[3].number == 2);
}

TEST_CASE("a kernel that only copies elements is marked as moving data") {
  using namespace dlcc::tensor;
  ProgramBuilder b;
  ValueId x = b.input(8), y = b.output(8);
  Invoke call = b.call({x}, {y});
  b.program.body.steps = {call};
  Kernel& kernel = b.program.kernels[0].variants[0];
  Buffer from = kernel.params[0].buffer, to = kernel.params[1].buffer;
  kernel.body = store(to, {0}, load(from, {1}));
  CHECK(step_costs(b.program)[0].only_moves);
  kernel.body = store(to, {0}, load(from, {1}) + load(from, {0}));
  CHECK_FALSE(step_costs(b.program)[0].only_moves);
}
