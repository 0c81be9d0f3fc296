// The parameters of kernels that are not `noalias`.
#include "targets/llvm/aliases.h"

#include <doctest/doctest.h>

#include "tests/unit/lower/program_builder.h"

using namespace dlcc;
using namespace dlcc::lower;

TEST_CASE("only overlapping operands of which one is written may alias") {
  ProgramBuilder b;
  ValueId x = b.input(16), s = b.temporary(16), t = b.temporary(16), other = b.temporary(16), y = b.output(16);
  b.program.body.steps = {b.call({x}, {s}), b.call({s, other}, {t}, {}, {{t, s}}), b.call({t, t}, {y}),
                          b.call({b.view(t, 0, 8), b.view(t, 8, 8)}, {b.view(s, 8, 8)})};
  StoragePlan plan;
  plan.offsets.assign(b.program.values.size(), -1);
  plan.offsets[static_cast<size_t>(s)] = plan.offsets[static_cast<size_t>(t)] = 0;
  plan.offsets[static_cast<size_t>(other)] = 16;
  using Flags = std::vector<bool>;
  CHECK(targets::find_aliases(b.program, plan) == std::vector{Flags{false, false}, Flags{true, false, true},
                                                              Flags{false, false, false}, Flags{false, true, true}});
}
