// Each rule of the checker is violated once. Then each temporary of a program is moved to each possible offset.
#include <doctest/doctest.h>

#include "lower/check_plan.h"
#include "program_builder.h"

using namespace dlcc;
using namespace dlcc::lower;

namespace {

// Checks that the plan is refused with a message that contains `text`.
void refuses(const Program& program, const StoragePlan& plan, const std::string& text) {
  const std::string message = check_storage(program, plan);
  CAPTURE(message);
  CAPTURE(text);
  CHECK(message.find(text) != std::string::npos);
}
void refuses(const Program& program, const std::string& text) { refuses(program, plan_storage(program), text); }

}  // namespace

TEST_CASE("a read of a value that was not written, or only in part, is refused") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8), t = b.temporary(8), low = b.view(t, 0, 4);
  SUBCASE("never") {
    b.program.body.steps = {b.call({t}, {out})};
    refuses(b.program, "byte 0 of %2 holds no defined value");
  }
  SUBCASE("in part") {
    b.program.body.steps = {b.call({in}, {low}), b.call({t}, {out})};
    refuses(b.program, "byte 4 of %2 holds no defined value");
  }
  SUBCASE("as scratch") {
    b.program.body.steps = {b.call({in}, {}, {t}), b.call({t}, {out})};
    refuses(b.program, "byte 0 of %2 holds no defined value");
  }
  SUBCASE("the output") {
    b.program.body.steps = {b.call({in}, {t})};
    refuses(b.program, "the end of the program: byte 0 of %1 holds no defined value");
  }
  SUBCASE("by a copy") {
    b.program.body.steps = {Copy{t, out}};
    refuses(b.program, "copy of %2 to %1: byte 0 of %2 holds no defined value");
  }
}

TEST_CASE("a read of a value that only one arm writes is refused") {
  ProgramBuilder b;
  const ValueId in = b.input(8), condition = b.input(1), out = b.output(8), t = b.temporary(8);
  const tensor::Var c = flag();
  b.program.body.steps = {Read{c, condition}, if_else(c, {{b.call({in}, {t})}}, {}), b.call({t}, {out})};
  refuses(b.program, "byte 0 of %3 holds no defined value");
}

TEST_CASE("a read of a value written in a loop that may not run is refused") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8), condition = b.temporary(1), t = b.temporary(8);
  b.program.body.steps = {b.call({in}, {condition}),
                          repeat(condition, {{b.call({in}, {t}), b.call({in}, {condition})}}), b.call({t}, {out})};
  refuses(b.program, "byte 0 of %3 holds no defined value");
}

TEST_CASE("a value that the first iteration overwrites is missing in the second") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8), condition = b.temporary(1), weight = b.temporary(8),
                t = b.temporary(8);
  b.program.body.steps = {b.call({in}, {condition, weight}),
                          repeat(condition, {{b.call({weight}, {condition}), b.call({condition}, {t})}}),
                          b.call({in}, {out})};
  StoragePlan plan = plan_storage(b.program);
  CHECK(check_storage(b.program, plan) == "");
  plan.offsets[t] = plan.offsets[weight];
  refuses(b.program, plan, "byte 0 of %3 holds no defined value");
}

TEST_CASE("a write to an input or a constant is refused") {
  ProgramBuilder b;
  const ValueId in = b.input(8), weight = b.constant(8), out = b.output(8), part = b.view(weight, 2, 2);
  SUBCASE("input") {
    b.program.body.steps = {b.call({weight}, {in})};
    refuses(b.program, "writes to the input %0");
  }
  SUBCASE("constant, through a view") {
    b.program.body.steps = {b.call({in}, {part})};
    refuses(b.program, "writes to the constant %3");
  }
  SUBCASE("input as scratch") {
    b.program.body.steps = {b.call({}, {out}, {in})};
    refuses(b.program, "writes to the input %0");
  }
  SUBCASE("constant by a copy") {
    b.program.body.steps = {Copy{in, weight}};
    refuses(b.program, "writes to the constant %1");
  }
}

TEST_CASE("overlapping operands of one call are refused") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8), t = b.temporary(8), u = b.temporary(8);
  SUBCASE("result over operand, not declared in place") {
    b.program.body.steps = {b.call({in}, {t}), b.call({t}, {u}), b.call({u}, {out})};
    StoragePlan plan = plan_storage(b.program);
    plan.offsets[u] = plan.offsets[t];
    refuses(b.program, plan, "%3 overlaps %2");
  }
  SUBCASE("declared in place, but shifted") {
    b.program.body.steps = {b.call({in}, {t}), b.call({t}, {u}, {}, {{u, t}}), b.call({u}, {out})};
    StoragePlan plan = plan_storage(b.program);
    CHECK(plan.offsets[t] == plan.offsets[u]);
    plan.offsets[u] += 1;
    plan.arena_bytes += 1;
    refuses(b.program, plan, "%3 overlaps %2");
  }
  SUBCASE("result over scratch") {
    b.program.body.steps = {b.call({in}, {t}, {u}), b.call({t}, {out})};
    StoragePlan plan = plan_storage(b.program);
    plan.offsets[u] = plan.offsets[t];
    refuses(b.program, plan, "%2 overlaps %3");
  }
  SUBCASE("a view over its base") {
    const ValueId part = b.view(t, 2, 2);
    b.program.body.steps = {b.call({in}, {t}), b.call({t}, {part}), b.call({t}, {out})};
    refuses(b.program, "%4 overlaps %2");
  }
  SUBCASE("a copy onto itself") {
    b.program.body.steps = {b.call({in}, {t}), Copy{t, t}, b.call({t}, {out})};
    refuses(b.program, "source and destination overlap");
  }
}

TEST_CASE("wrong offsets and alignments are refused") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8), t = b.temporary(8, 16);
  b.program.body.steps = {b.call({in}, {t}), b.call({t}, {out})};
  StoragePlan plan = plan_storage(b.program);
  REQUIRE(check_storage(b.program, plan) == "");
  SUBCASE("below the arena") {
    plan.offsets[t] = -16;
    refuses(b.program, plan, "is outside the arena of 8 bytes");
  }
  SUBCASE("beyond the arena") {
    plan.arena_bytes = 7;
    refuses(b.program, plan, "is outside the arena of 7 bytes");
  }
  SUBCASE("no offset") {
    plan.offsets[t] = -1;
    refuses(b.program, plan, "has no offset in the arena");
  }
  SUBCASE("not aligned") {
    plan.offsets[t] = 8;
    plan.arena_bytes = 16;
    refuses(b.program, plan, "is not aligned to 16");
  }
  SUBCASE("an arena that is not aligned") {
    plan.arena_alignment = 8;
    refuses(b.program, plan, "is not aligned to 16");
  }
  SUBCASE("an input in the arena") {
    plan.offsets[in] = 0;
    refuses(b.program, plan, "%0 is not a temporary but has an offset");
  }
  SUBCASE("too few offsets") {
    plan.offsets.pop_back();
    refuses(b.program, plan, "2 offsets for 3 values");
  }
}

TEST_CASE("operands with wrong sizes and alignments are refused") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8), t = b.temporary(8, 16), part = b.view(t, 4, 4);
  b.program.body.steps = {b.call({in}, {t}), b.call({t}, {out}), b.call({part}, {out})};
  const auto set_parameter = [&](int kernel, int parameter, int64_t bytes, int64_t alignment) {
    auto buffer = std::make_shared<tensor::BufferNode>();
    buffer->name = "p";
    buffer->type = dtype::u8;
    buffer->shape = {Dim(bytes)};
    buffer->alignment = alignment;
    b.program.kernels[kernel].variants[0].params[parameter].buffer = buffer;
  };
  SUBCASE("equal sizes") { CHECK(check_storage(b.program, plan_storage(b.program)) == ""); }
  SUBCASE("too few bytes") {
    set_parameter(0, 1, 9, 0);
    refuses(b.program, "parameter 'p' needs 9 bytes, %2 has 8");
  }
  SUBCASE("a caller's tensor is aligned to its element only") {
    set_parameter(0, 0, 8, 4);
    refuses(b.program, "parameter 'p' needs alignment 4, %0 has 1");
  }
  SUBCASE("the arena's alignment") {
    set_parameter(1, 0, 8, 64);
    CHECK(check_storage(b.program, plan_storage(b.program)) == "");
  }
  SUBCASE("a view's alignment") {
    set_parameter(2, 0, 4, 8);
    refuses(b.program, "parameter 'p' needs alignment 8, %3 has 4");
  }
  SUBCASE("fewer operands") {
    std::get<Invoke>(b.program.body.steps[0]).operands.pop_back();
    refuses(b.program, "1 operands for 2 parameters");
  }
}

TEST_CASE("invalid views and scalars are refused") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8), t = b.temporary(8), v = b.view(t, 4, 4);
  b.program.body.steps = {b.call({in}, {t}), b.call({v}, {out})};
  SUBCASE("a view beyond its base") {
    b.program.values[v].base_offset = 5;
    refuses(b.program, "%3 extends beyond %2");
  }
  SUBCASE("a view of a view") {
    b.view(v, 0, 1);
    refuses(b.program, "%4 is a view of 3, which is not a base");
  }
  SUBCASE("an element beyond a value") {
    b.program.body.steps.push_back(Read{flag(), in, 8});
    refuses(b.program, "%0 has no element 8");
  }
  SUBCASE("a scalar read before its value is written") {
    b.program.body.steps.insert(b.program.body.steps.begin(), Read{flag(), t, 0});
    refuses(b.program, "read of scalar 'c': byte 0 of %2 holds no defined value");
  }
  SUBCASE("a scalar written to a constant") {
    b.program.body.steps.push_back(Write{b.constant(1), 0, tensor::literal(dtype::u8, int64_t{1})});
    refuses(b.program, "writes to the constant %4");
  }
  SUBCASE("elements written one by one are defined") {
    const ValueId pair = b.temporary(2), last = b.output(2);
    for (int64_t k : {0, 1}) b.program.body.steps.push_back(Write{pair, k, tensor::literal(dtype::u8, k)});
    b.program.body.steps.push_back(Copy{pair, last});
    CHECK(check_storage(b.program, plan_storage(b.program)) == "");
    b.program.body.steps.erase(b.program.body.steps.begin() + 3);
    refuses(b.program, "byte 1 of %4 holds %2");
  }
  SUBCASE("a loop that does not write its condition is a correct plan") {
    b.program.body.steps.push_back(repeat(b.view(t, 0, 1), {}));
    CHECK(check_storage(b.program, plan_storage(b.program)) == "");
  }
}

TEST_CASE("reading a view at a scalar index requires all of its base") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8), t = b.temporary(8), v = b.view(t, 0, 4);
  const tensor::Var i = tensor::make_var("i");
  b.program.values[v].begin = i;
  b.program.values[v].stride = 4;
  const Step index = Compute{i, tensor::Expr(1)};
  SUBCASE("it may be larger than a base without elements, since no index is in range") {
    b.program.values[t].bytes = 3;
    b.program.body.steps = {index, b.call({in}, {out})};
    CHECK(check_storage(b.program, plan_storage(b.program)) == "");  // no step uses it
    b.program.body.steps.push_back(b.call({}, {v}));
    refuses(b.program, "%3 extends beyond %2");
    b.program.values[t].bytes = 0;
    CHECK(check_storage(b.program, plan_storage(b.program)) == "");
  }
  SUBCASE("a read needs the whole base") {
    b.program.body.steps = {index, b.call({in}, {b.view(t, 0, 4)}), b.call({v}, {out})};
    refuses(b.program, "byte 4 of %3 holds no defined value");
  }
  SUBCASE("a write does not define the base") {
    b.program.body.steps = {index, b.call({in}, {v}), b.call({t}, {out})};
    refuses(b.program, "byte 0 of %2 holds no defined value");
  }
  SUBCASE("a write may change any byte of the base's memory") {
    const ValueId other = b.temporary(8);
    b.program.body.steps = {index, b.call({in}, {other}), b.call({in}, {v}), b.call({other}, {out})};
    StoragePlan plan = plan_storage(b.program);
    CHECK(check_storage(b.program, plan) == "");
    plan.offsets[t] = plan.offsets[other];
    refuses(b.program, plan, "byte 0 of %4 holds no defined value");
  }
  SUBCASE("a defined base stays defined") {
    b.program.body.steps = {index, b.call({in}, {t}), b.call({in}, {v}), b.call({t}, {out})};
    CHECK(check_storage(b.program, plan_storage(b.program)) == "");
  }
  SUBCASE("two views of one base in a call that writes") {
    const ValueId w = b.view(t, 4, 4);
    b.program.body.steps = {index, b.call({in}, {t}), b.call({w}, {v}), b.call({t}, {out})};
    refuses(b.program, "overlaps %4, another operand of the call");
  }
  SUBCASE("its alignment is that of the stride") {
    b.program.body.steps = {index, b.call({in}, {t}), b.call({v}, {out})};
    auto aligned = std::make_shared<tensor::BufferNode>(*b.program.kernels[1].variants[0].params[0].buffer);
    aligned->alignment = 8;
    b.program.kernels[1].variants[0].params[0].buffer = aligned;
    b.program.values[t].alignment = 64;
    refuses(b.program, "needs alignment 8, %3 has 4");
  }
}

TEST_CASE("a loop whose first test fails has no iteration") {
  ProgramBuilder b;
  const ValueId in = b.input(4), out = b.output(4), beyond = b.view(in, 0, 8), t = b.temporary(8);
  const tensor::Var i = tensor::make_var("i");
  auto loop = std::make_shared<Loop>();
  loop->carried = {{i, tensor::Expr(0), tensor::Expr(i) + tensor::Expr(1)}};
  loop->condition = tensor::Expr(i) < tensor::Expr(0);
  loop->body.steps = {b.call({beyond}, {t})};
  b.program.body.steps = {Step(loop), b.call({in}, {out})};
  CHECK(check_storage(b.program, plan_storage(b.program)) == "");
  loop->condition = tensor::Expr(i) < tensor::Expr(1);
  refuses(b.program, "extends beyond");
}

TEST_CASE("an arm that the condition excludes is not executed") {
  ProgramBuilder b;
  const ValueId in = b.input(4), out = b.output(4), beyond = b.view(in, 0, 8), t = b.temporary(8);
  const tensor::Var n = tensor::make_var("n"), few = flag();
  auto branch = std::make_shared<Branch>();
  branch->condition = few;
  branch->then_region.steps = {b.call({beyond}, {t}), b.call({in}, {out})};
  branch->else_region.steps = {b.call({in}, {out})};
  const Step count = Compute{n, tensor::Expr(7)}, test = Compute{few, tensor::Expr(n) < tensor::Expr(7)};
  b.program.body.steps = {count, test, Step(branch)};
  CHECK(check_storage(b.program, plan_storage(b.program)) == "");
  std::swap(branch->then_region, branch->else_region);
  refuses(b.program, "extends beyond");
  b.program.body.steps = {Read{few, in}, Step(branch)};
  refuses(b.program, "extends beyond");
}

TEST_CASE("a loop that writes all slices defines the value") {
  ProgramBuilder b;
  const ValueId in = b.input(4), out = b.output(12), t = b.temporary(12), slice = b.view(t, 0, 4), u = b.temporary(4);
  const tensor::Var i = tensor::make_var("i"), at = tensor::make_var("at");
  b.program.values[slice].begin = i;
  b.program.values[slice].stride = 4;
  auto loop = std::make_shared<Loop>();
  loop->carried = {{i, tensor::Expr(0), tensor::Expr(i) + tensor::Expr(1)}};
  loop->condition = tensor::Expr(i) < tensor::Expr(3);
  loop->body.steps = {b.call({in}, {u}), b.call({u}, {slice})};
  b.program.body.steps = {Step(loop), b.call({t}, {out})};
  StoragePlan plan = plan_storage(b.program);
  SUBCASE("defines it") { CHECK(check_storage(b.program, plan) == ""); }
  SUBCASE("from the last to the first") {
    loop->body.steps.insert(loop->body.steps.begin(), Compute{at, tensor::Expr(2) - tensor::Expr(i)});
    b.program.values[slice].begin = at;
    CHECK(check_storage(b.program, plan) == "");
    b.program.values[slice].begin = tensor::Expr(1) - tensor::Expr(i);
    refuses(b.program, plan, "byte 0 of %2 holds no defined value");
  }
  SUBCASE("not if there are too few iterations") {
    loop->condition = tensor::Expr(i) < tensor::Expr(2);
    refuses(b.program, plan, "byte 0 of %2 holds no defined value");
  }
  SUBCASE("not if the counter does not begin at 0, or counts by 2") {
    loop->carried[0].initial = tensor::Expr(1);
    refuses(b.program, plan, "byte 0 of %2 holds no defined value");
    loop->carried = {{i, tensor::Expr(0), tensor::Expr(i) + tensor::Expr(2)}};
    refuses(b.program, plan, "byte 0 of %2 holds no defined value");
  }
  SUBCASE("not if something else may end the loop") {
    const tensor::Var goes_on = flag();
    b.program.body.steps.insert(b.program.body.steps.begin(), Read{goes_on, in});
    loop->condition = tensor::logical_and(loop->condition, goes_on);
    refuses(b.program, plan, "byte 0 of %2 holds no defined value");
  }
  SUBCASE("not if an arm of a branch writes the slice") {
    const tensor::Var c = flag();
    loop->body.steps = {b.call({in}, {u}), Read{c, u}, if_else(c, {{b.call({u}, {slice})}}, {})};
    refuses(b.program, plan, "byte 0 of %2 holds no defined value");
  }
  SUBCASE("and reads it before the end") {
    loop->body.steps.push_back(b.call({t}, {u}));
    refuses(b.program, "a loop has not written all slices of %2 yet");
  }
  SUBCASE("and another value in its memory") {
    plan.offsets[u] = plan.offsets[t] + 8;
    refuses(b.program, plan, "overlaps");
    loop->body.steps.push_back(b.call({in}, {u}));
    refuses(b.program, plan, "overlaps");
    loop->body.steps = {b.call({in}, {slice}), b.call({in}, {u})};
    refuses(b.program, plan, "byte 8 of %2 holds no defined value");
  }
}

TEST_CASE("every offset that overlaps a live value is refused") {
  // Each value is read by the two calls after the one that writes it: values up to two apart are live together.
  ProgramBuilder b;
  const ValueId in = b.input(4), out = b.output(4);
  std::vector<ValueId> chain = {b.temporary(5), b.temporary(7)};
  b.program.body.steps = {b.call({in}, {chain[0]}), b.call({chain[0]}, {chain[1]})};
  for (int k = 2; k < 12; ++k) {
    chain.push_back(b.temporary(3 + k * 5 % 7));
    b.program.body.steps.push_back(b.call({chain[k - 2], chain[k - 1]}, {chain[k]}));
  }
  b.program.body.steps.push_back(b.call({chain[10], chain[11]}, {out}));
  const StoragePlan good = plan_storage(b.program);
  REQUIRE(check_storage(b.program, good) == "");
  int caught = 0;
  for (int k = 0; k < 12; ++k) {
    const int64_t bytes = b.program.values[chain[k]].bytes.value();
    for (int64_t offset = 0; offset + bytes <= good.arena_bytes; ++offset) {
      StoragePlan plan = good;
      plan.offsets[chain[k]] = offset;
      bool overlap = false;
      for (int j = std::max(0, k - 2); j <= std::min(11, k + 2); ++j)
        overlap |= j != k && offset < plan.offsets[chain[j]] + b.program.values[chain[j]].bytes.value() &&
                   plan.offsets[chain[j]] < offset + bytes;
      CHECK((check_storage(b.program, plan) != "") == overlap);
      caught += overlap;
    }
  }
  CHECK(caught > 100);
}
