// Concatenations become views where their operands can move, and stay calls where they cannot.
#include "lower/in_place_concat.h"

#include <doctest/doctest.h>

#include "lower/check_plan.h"
#include "program_builder.h"
#include "tensor/analysis.h"
#include "tensor/builder.h"
#include "tensor/data_movement.h"
#include "tensor/layout.h"

using namespace dlcc;
using namespace dlcc::lower;

namespace {

void check_plan(const Program& program) { CHECK(check_storage(program, plan_storage(program)) == ""); }

bool is_view_at(const Program& p, ValueId v, ValueId base, const Dim& offset) {
  const Value& value = p.values[static_cast<size_t>(v)];
  return value.storage == Storage::view && value.base == base && value.base_offset == offset;
}

tensor::TensorFunction concatenation(const std::vector<int64_t>& channels, const Dim& height = 4) {
  tensor::Definition d("cat");
  int64_t all = 0;
  for (int64_t c : channels) all += c;
  std::vector<tensor::Tensor> inputs;
  for (int64_t c : channels) inputs.push_back(d.input("x", dtype::f32, {1, c, height, 4}));
  tensor::TensorFunction f = d.finish();
  tensor::Buffer result = tensor::make_buffer("y", dtype::f32, {1, all, height, 4});
  f.results = {result};
  int64_t begin = 0;
  for (size_t k = 0; k < inputs.size(); ++k) {
    tensor::Stage s;
    s.results = {result};
    std::vector<tensor::Expr> at;
    for (const Dim& n : f.params[k]->shape) {
      s.axes.push_back({tensor::make_var("i"), n});
      at.push_back(s.axes.back().var);
    }
    s.origin = {0, begin, 0, 0};
    s.values = {tensor::load(f.params[k], at)};
    f.stages.push_back(std::move(s));
    begin += channels[k];
  }
  return f;
}

std::optional<std::vector<Dim>> blocked_offsets(const std::vector<int64_t>& channels, int64_t halo = 0,
                                                const Dim& height = 4) {
  tensor::TensorFunction f = concatenation(channels, height);
  std::vector<tensor::Layout> layouts;
  for (const tensor::Buffer& b : f.params)
    layouts.push_back(tensor::blocked_layout(b->shape, 1, 16, tensor::Layout::Tail::unspecified));
  layouts.push_back(tensor::blocked_layout(f.results[0]->shape, 1, 16, tensor::Layout::Tail::unspecified));
  layouts.back().parts[2].halo = halo, layouts.back().parts[2].extent = layouts.back().parts[2].extent + Dim(halo);
  return tensor::concat_offsets(f, layouts);
}

}  // namespace

TEST_CASE("the operands of a concatenation become views of it") {
  ProgramBuilder b;
  ValueId in = b.input(8), x = b.temporary(64), y = b.temporary(32), all = b.temporary(96), out = b.output(8);
  b.program.body.steps = {b.call({in}, {x}), b.call({in}, {y}), b.call({x, y}, {all}), b.call({all}, {out})};
  in_place_concat(b.program, {{2, all, {x, y}, {0, 64}}});
  CHECK(b.program.body.steps.size() == 3);
  CHECK(is_view_at(b.program, x, all, 0));
  CHECK(is_view_at(b.program, y, all, 64));
  check_plan(b.program);
}

TEST_CASE("a chain of concatenations becomes views of the last one") {
  ProgramBuilder b;
  ValueId in = b.input(8), x = b.temporary(64), y = b.temporary(32), z = b.temporary(32), out = b.output(8);
  ValueId two = b.temporary(96), three = b.temporary(128);
  b.program.body.steps = {b.call({in}, {x}),  b.call({x}, {y}),           b.call({x, y}, {two}),
                          b.call({two}, {z}), b.call({x, y, z}, {three}), b.call({three}, {out})};
  in_place_concat(b.program, {{2, two, {x, y}, {0, 64}}, {4, three, {x, y, z}, {0, 64, 96}}});
  CHECK(b.program.body.steps.size() == 4);
  CHECK(is_view_at(b.program, two, three, 0));
  CHECK(is_view_at(b.program, z, three, 96));
  check_plan(b.program);
}

TEST_CASE("a concatenation of concatenations becomes views of the outer one") {
  ProgramBuilder b;
  ValueId in = b.input(8), x = b.temporary(32), y = b.temporary(32), z = b.temporary(32), out = b.output(8);
  ValueId inner = b.temporary(64), outer = b.temporary(96);
  b.program.body.steps = {b.call({in}, {x}),           b.call({x}, {y}),
                          b.call({x, y}, {inner}),     b.call({inner}, {z}),
                          b.call({z, inner}, {outer}), b.call({outer}, {out})};
  in_place_concat(b.program, {{2, inner, {x, y}, {0, 32}}, {4, outer, {z, inner}, {0, 32}}});
  CHECK(b.program.body.steps.size() == 4);
  CHECK(is_view_at(b.program, y, outer, 64));
  check_plan(b.program);
}

TEST_CASE("a concatenation with an operand that cannot move stays a call") {
  ProgramBuilder b;
  ValueId in = b.input(64), x = b.temporary(64), all = b.temporary(128), out = b.output(8);
  SUBCASE("an input") {
    b.program.body.steps = {b.call({in}, {x}), b.call({x, in}, {all}), b.call({all}, {out})};
    in_place_concat(b.program, {{1, all, {x, in}, {0, 64}}});
  }
  SUBCASE("an operand that occurs twice") {
    b.program.body.steps = {b.call({in}, {x}), b.call({x, x}, {all}), b.call({all}, {out})};
    in_place_concat(b.program, {{1, all, {x, x}, {0, 64}}});
  }
  SUBCASE("its offset is not aligned") {
    ValueId y = b.temporary(64, 128);
    b.program.body.steps = {b.call({in}, {x}), b.call({in}, {y}), b.call({x, y}, {all}), b.call({all}, {out})};
    in_place_concat(b.program, {{2, all, {x, y}, {0, 64}}});
    CHECK(b.program.body.steps.size() == 4);
  }
  SUBCASE("it is a view of another concatenation already") {
    ValueId y = b.temporary(64), other = b.temporary(128);
    b.program.body.steps = {b.call({in}, {x}), b.call({in}, {y}), b.call({x, y}, {all}), b.call({y, x}, {other}),
                            b.call({all, other}, {out})};
    in_place_concat(b.program, {{2, all, {x, y}, {0, 64}}, {3, other, {y, x}, {0, 64}}});
    CHECK(b.program.body.steps.size() == 4);
  }
  CHECK(b.program.values[static_cast<size_t>(all)].storage == Storage::temporary);
  check_plan(b.program);
}

TEST_CASE("offsets in an image of symbolic height are symbolic") {
  const Dim h = Dim::symbol({"h", 1});
  CHECK(blocked_offsets({16, 32, 8}, 0, h) == std::vector<Dim>{0, Dim(64) * h, Dim(192) * h});
  CHECK_FALSE(blocked_offsets({8, 16}, 0, h));
}

TEST_CASE("operands become views at symbolic offsets, if these are aligned at all sizes") {
  const Symbol n{"n", 1};
  for (const int64_t factor : {64, 16}) {
    ProgramBuilder b;
    b.program.dims = {{"n", n}};
    const Dim size = Dim(factor) * Dim::symbol(n);
    ValueId x = b.temporary(64, 64), y = b.temporary(64, 64), all = b.temporary(128, 64);
    for (ValueId v : {x, y, all}) {
      Value& value = b.program.values[static_cast<size_t>(v)];
      value.bytes = v == all ? Dim(2) * size : size;
      value.shape = {value.bytes};
    }
    b.program.body.steps = {b.call({x, y}, {all})};
    in_place_concat(b.program, {{0, all, {x, y}, {0, size}}});
    CHECK(is_view_at(b.program, y, all, size) == (factor == 64));
  }
}

TEST_CASE("operands must be contiguous in the storage of the result") {
  CHECK(blocked_offsets({16, 32, 8}) == std::vector<Dim>{0, 256, 768});
  CHECK_FALSE(blocked_offsets({8, 16}));
  CHECK_FALSE(blocked_offsets({16, 16}, 1));  // the result has a halo that the operands lack
  tensor::TensorFunction f = concatenation({3, 5});
  CHECK(tensor::concat_offsets(f, std::vector<tensor::Layout>(3)) == std::vector<Dim>{0, 48});
  f.stages[1].values[0] = f.stages[1].values[0] + f.stages[1].values[0];
  CHECK_FALSE(tensor::concat_offsets(f, std::vector<tensor::Layout>(3)));
}
