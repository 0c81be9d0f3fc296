// Shared memory of values in small programs.
#include <doctest/doctest.h>

#include "lower/check_plan.h"
#include "lower/program_text.h"
#include "program_builder.h"

using namespace dlcc;
using namespace dlcc::lower;

namespace {

StoragePlan checked_plan(const Program& program) {
  StoragePlan plan = plan_storage(program);
  CHECK(check_storage(program, plan) == "");
  return plan;
}

}  // namespace

TEST_CASE("the arena of a chain has the size of its two largest neighbours") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8);
  const ValueId t0 = b.temporary(100), t1 = b.temporary(50), t2 = b.temporary(70);
  b.program.body.steps = {b.call({in}, {t0}), b.call({t0}, {t1}), b.call({t1}, {t2}), b.call({t2}, {out})};
  const StoragePlan plan = checked_plan(b.program);
  CHECK(plan.arena_bytes == 150);
  CHECK(plan.live_bound == 150);
  CHECK(plan.offsets[in] == -1);
  CHECK(plan.offsets[out] == -1);
}

TEST_CASE("each result of a chain takes the storage of the operand that dies") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8);
  const ValueId t0 = b.temporary(64, 4), t1 = b.temporary(64, 16), t2 = b.temporary(64);
  b.program.body.steps = {b.call({in}, {t0}), b.call({t0}, {t1}, {}, {{t1, t0}}), b.call({t1}, {t2}, {}, {{t2, t1}}),
                          b.call({t2}, {out})};
  const StoragePlan plan = checked_plan(b.program);
  CHECK(plan.arena_bytes == 64);
  CHECK(plan.offsets[t0] == plan.offsets[t2]);
}

TEST_CASE("no sharing in place when the operand is live afterwards or is read twice") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8);
  const ValueId t0 = b.temporary(64), t1 = b.temporary(64);
  SUBCASE("it is live afterwards") {
    b.program.body.steps = {b.call({in}, {t0}), b.call({t0}, {t1}, {}, {{t1, t0}}), b.call({t0, t1}, {out})};
  }
  SUBCASE("a part of it is live afterwards") {
    const ValueId part = b.view(t0, 8, 4);
    b.program.body.steps = {b.call({in}, {t0}), b.call({t0}, {t1}, {}, {{t1, t0}}), b.call({part, t1}, {out})};
  }
  SUBCASE("another operand reads it too") {
    Invoke twice = b.call({t0, t0}, {t1});
    twice.in_place = {{2, 0}};
    b.program.body.steps = {b.call({in}, {t0}), twice, b.call({t1}, {out})};
  }
  CHECK(checked_plan(b.program).arena_bytes == 128);
}

TEST_CASE("an operand that is read twice may be replaced if both uses allow it") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8);
  const ValueId t0 = b.temporary(64), t1 = b.temporary(64);
  b.program.body.steps = {b.call({in}, {t0}), b.call({t0, t0}, {t1}, {}, {{t1, t0}}), b.call({t1}, {out})};
  CHECK(checked_plan(b.program).arena_bytes == 64);
}

TEST_CASE("a reshaped operand may be replaced, a slice may not") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8);
  const ValueId t0 = b.temporary(64);
  ValueId read = -1, t1 = -1;
  int64_t expected = 0;
  SUBCASE("whole") { read = b.view(t0, 0, 64), t1 = b.temporary(64), expected = 64; }
  SUBCASE("half") { read = b.view(t0, 32, 32), t1 = b.temporary(32), expected = 96; }
  b.program.body.steps = {b.call({in}, {t0}), b.call({read}, {t1}, {}, {{t1, read}}), b.call({t1}, {out})};
  CHECK(checked_plan(b.program).arena_bytes == expected);
}

TEST_CASE("inputs and outputs are never replaced") {
  ProgramBuilder b;
  const ValueId in = b.input(64), out = b.output(64), t = b.temporary(64);
  b.program.body.steps = {b.call({in}, {t}, {}, {{t, in}}), b.call({t}, {out}, {}, {{out, t}})};
  CHECK(checked_plan(b.program).arena_bytes == 64);
}

TEST_CASE("a view keeps its base live; several steps may write parts of the base") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8);
  const ValueId whole = b.temporary(64), low = b.view(whole, 0, 32), high = b.view(whole, 32, 32), t = b.temporary(16);
  b.program.body.steps = {b.call({in}, {low}), b.call({in}, {t}), b.call({t}, {high}), b.call({whole}, {out})};
  CHECK(checked_plan(b.program).arena_bytes == 80);
}

TEST_CASE("the arms of a branch share memory") {
  ProgramBuilder b;
  const ValueId in = b.input(8), condition = b.input(1), out = b.output(8);
  const ValueId then_value = b.temporary(100), else_value = b.temporary(90), joined = b.temporary(10);
  Region then_region{{b.call({in}, {then_value}), b.call({then_value}, {joined})}};
  Region else_region{{b.call({in}, {else_value}), b.call({else_value}, {joined})}};
  const tensor::Var c = flag();
  b.program.body.steps = {Read{c, condition}, if_else(c, then_region, else_region), b.call({joined}, {out})};
  CHECK(checked_plan(b.program).arena_bytes == 110);
}

// The result is used after a check that the operand is not, so that it takes less memory at some sizes.
TEST_CASE("a value and its replacement share the larger memory") {
  ProgramBuilder b;
  const Symbol n{"n", 1};
  b.program.dims = {{"n", n}};
  const ValueId x = b.input(1), result = b.temporary(1), operand = b.temporary(1), y = b.output(1);
  auto branch = std::make_shared<Branch>();
  branch->condition = tensor::literal(dtype::boolean, int64_t{1});
  branch->then_region.steps = {CheckSize{Dim::symbol(n) - Dim(9)}, b.call({operand}, {result}, {}, {{result, operand}}),
                               b.call({result}, {y})};
  branch->else_region.steps = {b.call({x}, {y})};
  b.program.body.steps = {b.call({x}, {operand}), branch};
  const Dim size = (Dim::symbol(n) - Dim(9)) * (Dim::symbol(n) - Dim(9)) + Dim(1);
  for (ValueId v : {result, operand}) b.program.values[v].shape = {size}, b.program.values[v].bytes = size;
  const StoragePlan plan = plan_storage(b.program);
  CHECK(plan.block_of[result] == plan.block_of[operand]);
  CHECK(check_storage(b.program, plan) == "");
  for (auto [n_size, bytes] : {std::pair{2, 50}, {8, 2}, {12, 10}})
    CHECK(lay_out_arena(plan, {{"n", n_size}}).arena_bytes == bytes);
}

TEST_CASE("an outer value that a loop reads is live during the whole loop") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8);
  const ValueId condition = b.temporary(1), weight = b.temporary(40), state = b.temporary(8);
  const ValueId t0 = b.temporary(40), t1 = b.temporary(40);
  // The weight is last read before t1 is written, but the next iteration reads it again.
  const Region body{{b.call({weight}, {t0}), b.call({t0}, {t1}, {}, {{t1, t0}}), b.call({t1}, {condition})}};
  b.program.body.steps = {b.call({in}, {weight, condition, state}), repeat(condition, body), b.call({state}, {out})};
  const StoragePlan plan = checked_plan(b.program);
  CHECK(plan.arena_bytes == 40 + 40 + 8 + 1);
  CHECK(plan.offsets[t0] == plan.offsets[t1]);
}

TEST_CASE("the last step of a loop does not replace an outer operand") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8);
  const ValueId condition = b.temporary(1), weight = b.temporary(40), t = b.temporary(40);
  Region body{{b.call({in}, {condition}), b.call({weight}, {t}, {}, {{t, weight}})}};
  b.program.body.steps = {b.call({in}, {weight, condition}), repeat(condition, body), b.call({in}, {out})};
  CHECK(checked_plan(b.program).arena_bytes == 81);
}

TEST_CASE("the arena has the largest alignment of its values; unused values have no offset") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8);
  const ValueId t0 = b.temporary(3, 4), t1 = b.temporary(256, 256), unused = b.temporary(1000);
  b.program.body.steps = {b.call({in}, {t0, t1}), b.call({t0, t1}, {out})};
  const StoragePlan plan = checked_plan(b.program);
  CHECK(plan.arena_alignment == 256);
  CHECK(plan.offsets[t1] % 256 == 0);
  CHECK(plan.offsets[unused] == -1);
  CHECK(plan.arena_bytes == 259);
}

TEST_CASE("a program without temporaries needs no arena") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8);
  b.program.body.steps = {b.call({in}, {out})};
  CHECK(checked_plan(b.program).arena_bytes == 0);
}

TEST_CASE("programs print with their plan") {
  ProgramBuilder b;
  const ValueId in = b.input(8), condition = b.constant(1), out = b.output(8);
  const ValueId t = b.temporary(8, 64), v = b.view(t, 4, 4), s = b.temporary(4, 64), u = b.temporary(8, 64);
  b.program.values[t].name = "conv1";
  Invoke call = b.call({in}, {t}, {s});
  call.node = "node 'conv1' (Conv)";
  Region then_region{{b.call({t}, {u}, {}, {{u, t}})}}, else_region{{Copy{t, u}}};
  const tensor::Var c = flag();
  b.program.body.steps = {call,         b.call({v}, {s}),     Read{c, condition}, if_else(c, then_region, else_region),
                          Copy{u, out}, repeat(condition, {})};
  CHECK(print(b.program) == R"(%0 = input 0 uint8[8], 8 bytes
%1 = constant 0 uint8[1], 1 bytes, align 1
%2 = output 0 uint8[8], 8 bytes
%3 = temporary uint8[8], 8 bytes, align 64  # 'conv1'
%4 = view of %3 + 4 uint8[4], 4 bytes
%5 = temporary uint8[4], 4 bytes, align 64
%6 = temporary uint8[8], 8 bytes, align 64
kernel @k0(read p0: u8[8], write p1: u8[8], scratch p2: u8[4])
kernel @k1(read p0: u8[8], write p1: u8[8])
kernel @k2(read p0: u8[4], write p1: u8[4])
run {
  @k0(%0, %3, %5)  # node 'conv1' (Conv)
  @k2(%4, %5)
  let c: bool = %1[0]
  if c {
    @k1(%3, %6), %6 may replace %3
  } else {
    copy(%3, %6)
  }
  copy(%6, %2)
  loop {
    let c.1: u8 = %1[0]
  } while c.1 != 0u8 {
  }
}
)");
  const StoragePlan plan = checked_plan(b.program);
  CHECK(print(b.program, &plan).find("%3 = temporary uint8[8], 8 bytes, align 64, at ") != std::string::npos);
}
