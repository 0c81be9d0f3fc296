// Vector loops over padded rows: their interior and their borders.
#include "tensor/schedules/interior.h"

#include <doctest/doctest.h>

#include "harness.h"
#include "tensor/builder.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

enum class Border : uint8_t { constant, edge, mirror, wrap };

// Index i - before of an image's dimension of this size, in the border, too.
Expr inner(Border border, const Expr& i, int64_t before, const Dim& size) {
  const Expr at = i - Expr(before), last = Expr(size - Dim(1));
  switch (border) {
    case Border::edge:
      return max(min(at, last), Expr(0));
    case Border::mirror: {
      const Expr folded = floor_mod(at, last * Expr(2));
      return min(folded, last * Expr(2) - folded);
    }
    case Border::wrap:
      return floor_mod(at, Expr(size));
    default:
      return at;
  }
}

// x with a border, plus y, whose elements are contiguous everywhere, and a scalar.
TensorFunction padded(Border border, const Dim& h, const Dim& w, int64_t before = 2, int64_t after = 3) {
  const Shape shape = {2, h + Dim(before + after), w + Dim(before + after)};
  Definition d("pad");
  Tensor x = d.input("x", dtype::f32, {2, h, w}), y = d.input("y", dtype::f32, shape);
  d.result("z", dtype::f32, shape, [&](Index i) {
    const std::vector<Expr> at = {i[0], inner(border, i[1], before, h), inner(border, i[2], before, w)};
    return (border == Border::constant ? x.at_or(at, literal(dtype::f32, 7.0)) : x(at)) + y(i);
  });
  return d.finish();
}

std::string kernel_of(const TensorFunction& f) {
  return print(schedule({f, {false, false}, std::vector<Layout>(3), {avx512}}).variants[0]);
}

constexpr Border borders[] = {Border::constant, Border::edge, Border::mirror, Border::wrap};

}  // namespace

TEST_CASE("padded rows of constant size") {
  for (Border border : borders)
    for (int64_t width : {2, 3, 16, 50}) {
      check_schedule(padded(border, 4, width), {false, false});
      check_schedule(padded(border, 4, width, 0, 2), {false, false});
      check_schedule(padded(border, 4, width, 1, 0), {false, false});
    }
}

TEST_CASE("padded rows of symbolic size") {
  const Dim h = Dim::symbol({"h", 2}), w = Dim::symbol({"w", 2});
  for (Border border : borders) {
    const TensorFunction f = padded(border, h, w);
    check_symbolic_schedule(f, {}, {}, {}, {2, 3, 7, 16, 50});
    const std::string text = kernel_of(f);
    CAPTURE(text);
    CHECK(text.find(", 16 * vector.1 + i2]") != std::string::npos);  // x in the interior
  }
  const Dim one_or_more = Dim::symbol({"w", 1});
  check_symbolic_schedule(padded(Border::edge, 3, one_or_more), {}, {}, {}, {1, 2, 20});
  check_symbolic_schedule(padded(Border::mirror, 3, one_or_more, 0, 1), {}, {}, {}, {2, 3, 20});
  CHECK(kernel_of(padded(Border::mirror, 3, one_or_more)).find("if 2 <= w {") != std::string::npos);
  CHECK(kernel_of(padded(Border::edge, 3, one_or_more)).find("if 2 <= w {") == std::string::npos);
}

TEST_CASE("loops without an interior") {
  auto has_interior = [](const std::string& value) {
    const TensorFunction f = parse_function(
        "tensor @f(x: f32[8, 40], k: i64[]) -> (y: f32[8, 40]) {\n  y[i < 8, j < 40] = " + value + "\n}");
    const Stage& stage = f.stages[0];
    const StorageLoops loops = storage_loops({}, {8, 40});
    return find_interior({at_index(stage.values[0], stage, loops.index)}, loops, 1).has_value();
  };
  CHECK(has_interior("x[i, min(j, 39)]"));
  CHECK_FALSE(has_interior("x[i, j]"));
  CHECK_FALSE(has_interior("x[i, 39 - j]"));
  CHECK_FALSE(has_interior("x[i, floordiv(j, 2)]"));
  CHECK_FALSE(has_interior("x[i, j - 2] else 0.0"));    // the interior would exceed the loop
  CHECK_FALSE(has_interior("x[i, j + k[]] else 0.0"));  // its range is not known
  CHECK_FALSE(has_interior("x[j, i] else 0.0 + x[i, 39 - j]"));
}
