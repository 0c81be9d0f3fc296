// Tables of what depends on one axis alone, such as the neighbours of a pixel and their weights in a resized image.
#include "tensor/schedules/position_tables.h"

#include <doctest/doctest.h>

#include <regex>

#include "harness.h"
#include "tensor/builder.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

size_t tables_of(TensorFunction f, const Machine& machine = avx512) {
  const size_t stages = f.stages.size();
  tabulate_positions(f, machine);
  return f.stages.size() - stages;
}

// Every third row and column of two, as nearest neighbours have them.
Expr two_thirds(const Expr& i) { return floor_div(Expr(2) * i + Expr(1), Expr(3)); }

TensorFunction elementwise(const Shape& shape, const Point& value) {
  Definition d("f");
  d.result("y", dtype::f32, shape, value);
  return d.finish();
}

Expr ratio(const Expr& i) { return cast(dtype::f32, i) / literal(dtype::f32, 3.0); }

}  // namespace

TEST_CASE("expensive parts of an expression that depend on one axis are tables") {
  Definition d("nearest");
  const Tensor x = d.input("x", dtype::f32, {3, 20, 30});
  d.result("y", dtype::f32, {3, 29, 44}, [&](Index i) { return x({i[0], two_thirds(i[1]), two_thirds(i[2])}); });
  TensorFunction f = d.finish();
  check_schedule(f, {false});
  tabulate_positions(f, avx512);
  REQUIRE(f.stages.size() == 3);
  CHECK(f.stages[0].results[0]->type == dtype::i32);
  CHECK(f.stages[0].results[0]->shape == Shape{29});
  CHECK(f.stages[1].results[0]->shape == Shape{44});
}

TEST_CASE("equal expressions along axes of equal extents share a table") {
  CHECK(tables_of(elementwise({16, 16}, [](Index i) { return ratio(i[0]) + ratio(i[1]); })) == 1);
  CHECK(tables_of(elementwise({16, 17}, [](Index i) { return ratio(i[0]) + ratio(i[1]); })) == 2);
  CHECK(tables_of(elementwise({16, 16}, [](Index i) { return ratio(i[0]) + ratio(i[1] + Expr(1)); })) == 2);
}

TEST_CASE("tables have at least eight uses of each entry, and hold what takes several instructions") {
  const Expr two = literal(dtype::f32, 2.0);
  CHECK(tables_of(elementwise({8, 16}, [](Index i) { return ratio(i[1]); })) == 1);
  CHECK(tables_of(elementwise({7, 16}, [](Index i) { return ratio(i[1]); })) == 0);
  CHECK(tables_of(elementwise({16}, [](Index i) { return ratio(i[0]); })) == 0);
  CHECK(tables_of(elementwise({16, 16}, [](Index i) { return ratio(i[0] + i[1]); })) == 0);
  CHECK(tables_of(elementwise({16, 16}, [&](Index) { return exp(two); })) == 0);
  // The index of a repetition, which has a schedule of its own.
  Definition d("repeat");
  const Tensor x = d.input("x", dtype::f32, {16, 8});
  d.result("y", dtype::f32, {16, 16}, [&](Index i) { return x({i[0], floor_div(i[1], Expr(2))}); });
  CHECK(tables_of(d.finish()) == 0);
}

TEST_CASE("a table of several axes stays in the cache, and is not made where memory is scarce") {
  auto sums = [](int64_t channels, int64_t side) {
    return elementwise({channels, side, side}, [](Index i) { return ratio(i[1] + i[2]); });
  };
  Machine microcontroller = avx512;
  microcontroller.memory_is_scarce = true;
  CHECK(tables_of(sums(8, 16)) == 1);
  CHECK(tables_of(sums(7, 16)) == 0);
  CHECK(tables_of(sums(8, 200)) == 0);
  CHECK(tables_of(sums(8, 16), microcontroller) == 0);
  CHECK(tables_of(elementwise({8, 16}, [](Index i) { return ratio(i[1]); }), microcontroller) == 1);
  check_schedule(sums(8, 16), {});
  TensorFunction f = sums(8, 16);
  tabulate_positions(f, avx512);
  CHECK(f.stages[0].results[0]->shape == Shape{16, 16});
}

TEST_CASE("a load under a condition is not computed for a table") {
  auto guarded = [](bool in_range) {
    Definition d("f");
    const Tensor x = d.input("x", dtype::f32, {16}), y = d.input("y", dtype::f32, {16, 16});
    d.result("z", dtype::f32, {16, 16}, [&](Index i) {
      const Expr at = in_range ? i[1] : i[1] - Expr(1);
      return select(i[1] > i[0], exp(x({at})), y(i));
    });
    return d.finish();
  };
  CHECK(tables_of(guarded(true)) == 1);
  CHECK(tables_of(guarded(false)) == 0);
  check_schedule(guarded(true), {false, false});
  check_schedule(guarded(false), {false, false});
}

TEST_CASE("what depends on an earlier stage is not a table, as tables come first") {
  Definition d("deviations");
  const Tensor x = d.input("x", dtype::f32, {16, 24});
  const Tensor total = d.reduce("total", {16}, sum_of(dtype::f32), {24}, [&](Index i, Index r) {
    return x({i[0], r[0]}) * x({i[0], r[0]});
  });
  d.result("y", dtype::f32, {16, 24}, [&](Index i) { return x(i) * sqrt(total({i[0]})); });
  const TensorFunction f = d.finish();
  CHECK(tables_of(f) == 0);
  check_schedule(f, {false});
}

TEST_CASE("indices of unknown range keep 64 bits, and those that are in range lose their predicate") {
  Definition d("f");
  const Tensor x = d.input("x", dtype::f32, {16, 16});
  d.result("y", dtype::f32, {16, 24}, [&](Index i) {
    const Expr at = cast(dtype::i64, ratio(i[1])), inside = max(min(at, Expr(15)), Expr(0));
    return x.at_or({i[0], inside}, literal(dtype::f32, 0.0)) + x.at_or({i[0], at}, literal(dtype::f32, 0.0));
  });
  TensorFunction f = d.finish();
  check_schedule(f, {false});
  tabulate_positions(f, avx512);
  REQUIRE(f.stages.size() == 3);
  const std::vector<Load> loads = loads_of(f.stages.back().values[0]);
  int predicated = 0;
  for (const Load& l : loads) predicated += static_cast<bool>(l.otherwise);
  CHECK(predicated == 1);
  CHECK(f.stages[0].results[0]->type != f.stages[1].results[0]->type);
}

TEST_CASE("the counts of elements in a window along each axis are tables, where their product is no table") {
  // The average of the elements of 3x3 windows that are inside the image.
  auto averages = [](const Dim& h, const Dim& w, const Expr& most) {
    Definition d("averages");
    const Tensor x = d.input("x", dtype::f32, {1, 8, h, w});
    const Tensor total =
        d.reduce("total", {1, 8, h, w}, sum_of(dtype::f32), {3, 3}, [&](Index i, Index r) {
          return x.at_or({i[0], i[1], i[2] + r[0] - Expr(1), i[3] + r[1] - Expr(1)}, literal(dtype::f32, 0.0));
        });
    auto inside = [&](const Expr& i, const Dim& n) {
      return min(most, Expr(n) - i) - max(Expr(0), Expr(1) - i) + Expr(1);
    };
    d.result("y", dtype::f32, {1, 8, h, w},
             [&](Index i) { return total(i) / cast(dtype::f32, inside(i[2], h) * inside(i[3], w)); });
    return d.finish();
  };
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  CHECK(tables_of(averages(20, 20, Expr(2))) == 1);
  CHECK(tables_of(averages(200, 300, Expr(2))) == 2);
  CHECK(tables_of(averages(h, w, Expr(2))) == 2);
  CHECK(tables_of(averages(h, w, Expr(5000))) == 0);  // float32 may not have the product
  check_symbolic_schedule(averages(h, w, Expr(2)), {}, {}, {}, {1, 2, 3, 17, 40});
  // The division is done on the accumulators.
  const std::string text = print(
      schedule({averages(h, w, Expr(2)), {false, false}, std::vector<Layout>(3), {avx512}}).variants[0]);
  CAPTURE(text);
  CHECK(text.find("total") == std::string::npos);
  // A table is no operand whose memory the result may have: the last tile of a row overlaps the one before it.
  CHECK(std::regex_search(text, std::regex(R"(\n *y\[[^\n]*min\([^\n]*, w - 16\)[^\n]* = )")));
}

TEST_CASE("several products of counts in a stage have tables of their own") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  Definition d("products");
  const Tensor x = d.input("x", dtype::f32, {8, h, w});
  auto count = [](const Expr& i, int64_t k) { return min(i + Expr(k), Expr(9 + k)); };
  d.result("y", dtype::f32, {8, h, w}, [&](Index i) {
    Expr value = x(i);
    for (int64_t k = 0; k < 24; ++k) value = value + cast(dtype::f32, count(i[1], k) * count(i[2], 100 + k));
    return value;
  });
  const TensorFunction f = d.finish();
  CHECK(tables_of(f) == 48);
  check_symbolic_schedule(f, {}, {}, {}, {1, 2, 17});
}
