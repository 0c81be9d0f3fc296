// Window reductions: depthwise convolutions, pooling, means.
#include "tensor/schedules/window_reduction.h"
#include "tensor/schedules/window_reduction_tiling.h"

#include <doctest/doctest.h>

#include <map>

#include "harness.h"
#include "tensor/builder.h"
#include "tensor/layout.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

void check_depthwise(const Depthwise& p) {
  for (DepthwiseEpilogue e : {DepthwiseEpilogue::nothing, DepthwiseEpilogue::bounds, DepthwiseEpilogue::sigmoid,
                              DepthwiseEpilogue::residual}) {
    TensorFunction f = depthwise(p, e);
    Layout blocked = channels16(f, 0), image = channels16(f, 4);
    std::map<Buffer, Layout> stored = {{f.params[0], blocked}, {f.params[3], image}, {f.results[0], image}};
    auto plan = plan_window_reduction(f, 0, stored, {false, true, true, false});
    REQUIRE(plan);
    CHECK(plan->epilogue.has_value() == (e != DepthwiseEpilogue::nothing));
    check_schedule(f, {false, true, true, false}, {blocked, {}, {}, image, image});
    check_schedule(f, {false, true, true, false}, {blocked, {}, {}, image, {}});
    if (auto halo = wanted_halo(f, 0, {false, true, true, false}, {}, avx512); !halo.empty()) {
      Layout haloed = with_halo(blocked, f.params[0]->shape, halo);
      check_schedule(f, {false, true, true, false}, {haloed, {}, {}, image, image});
    }
    check_schedule(f, {false, false, false, false}, {blocked, {}, {}, {}, image});
  }
}

}  // namespace

TEST_CASE("depthwise convolutions of images in channel blocks") {
  check_depthwise({});
  check_depthwise({.c = 24, .h = 14, .w = 31, .stride = 2});
  check_depthwise({.n = 2, .c = 20, .h = 7, .w = 7, .k = 5, .pad = 2});
  check_depthwise({.h = 12, .w = 13, .dilation = 2, .pad = 2});
  check_depthwise({.h = 3, .w = 40, .k = 7, .pad = 3});
  check_depthwise({.h = 6, .w = 5, .k = 2, .pad = 0});
}

TEST_CASE("max pooling with dense and channel-blocked layouts") {
  Definition d("pool");
  Tensor x = d.input("x", dtype::f32, {1, 24, 9, 9});
  Tensor y = d.reduce("y", {1, 24, 5, 5}, max_of(dtype::f32), {3, 3}, [&](Index i, Index r) {
    return x.at_or({i[0], i[1], i[2] * 2 + r[0] - 1, i[3] * 2 + r[1] - 1}, lowest(dtype::f32));
  });
  d.mark_result(y);
  TensorFunction f = d.finish();
  check_schedule(f, {false});
  check_schedule(f, {false}, {channels16(f, 0), channels16(f, 1)});
  check_schedule(f, {false}, {channels16(f, 0), Layout{}});
}

TEST_CASE("means and column maxima with neighbouring results as lanes") {
  for (int64_t channels : {5, 16, 24, 96, 200}) {
    Definition d("mean");
    Tensor x = d.input("x", dtype::f32, {2, channels, 3, 5});
    Tensor total = d.reduce("total", {2, channels}, sum_of(dtype::f32), {3, 5},
                            [&](Index i, Index r) { return x(i[0], i[1], r[0], r[1]); });
    d.result("y", dtype::f32, {2, channels}, [&](Index i) { return total(i) / literal(dtype::f32, 15.0); });
    TensorFunction f = d.finish();
    check_schedule(f, {false}, {channels16(f, 0), Layout{}});
    check_schedule(f, {false}, {channels16(f, 0), channels16(f, 1)});

    Definition c("columns");
    Tensor m = c.input("m", dtype::i32, {7, channels});
    c.mark_result(c.reduce("y", {channels}, max_of(dtype::i32), {7}, [&](Index i, Index r) { return m(r[0], i[0]); }));
    check_schedule(c.finish(), {false});
  }
}

TEST_CASE("threads get equal shares of the channel blocks") {
  auto parallel_loops = [](int64_t channels, int threads) {
    Definition d("total");
    Tensor x = d.input("x", dtype::f32, {1, channels, 14, 14});
    d.mark_result(d.reduce("y", {1, channels}, sum_of(dtype::f32), {14, 14},
                           [&](Index i, Index r) { return x(i[0], i[1], r[0], r[1]); }));
    TensorFunction f = d.finish();
    std::vector<Layout> layouts = {channels16(f, 0), {}};
    check_schedule(f, {false}, layouts, {.threads = threads});
    std::vector<int64_t> extents;
    for_each_stmt(schedule({f, {false}, layouts, {avx512}, {.threads = threads}}).variants[0].body, [&](const Stmt& s) {
      const For* loop = as<For>(s);
      if (loop && loop->kind == LoopKind::parallel) extents.push_back(*constant_integer(loop->extent));
    });
    return extents;
  };
  CHECK(parallel_loops(32, 1).empty());  // one tile of two blocks
  CHECK(parallel_loops(32, 2) == std::vector<int64_t>{2});
  CHECK(parallel_loops(96, 2) == std::vector<int64_t>{2});
  CHECK(parallel_loops(96, 3) == std::vector<int64_t>{3});
  CHECK(parallel_loops(144, 2) == std::vector<int64_t>{4});  // and one block alone
}

TEST_CASE("operands that all taps share fit the registers beside the accumulators") {
  Definition d("mean");
  Tensor x = d.input("x", dtype::f32, {1, 200, 3, 5});
  Tensor scale = d.input("scale", dtype::f32, {200}), bias = d.input("bias", dtype::f32, {200});
  d.mark_result(d.reduce("y", {1, 200}, sum_of(dtype::f32), {3, 5}, [&](Index i, Index r) {
    return max(literal(dtype::f32, 0.0), x(i[0], i[1], r[0], r[1]) * scale(i[1]) + bias(i[1]));
  }));
  TensorFunction f = d.finish();
  std::vector<bool> constant = {false, true, true};
  check_schedule(f, constant, {channels16(f, 0), {}, {}, channels16(f, 3)});
  for (const Kernel& k : schedule({f, constant, {channels16(f, 0), {}, {}, channels16(f, 3)}, {avx2}}).variants)
    for_each_stmt(k.body, [](const Stmt& s) {
      const Allocate* a = as<Allocate>(s);
      if (a && a->buffer->scope == Scope::reg) CHECK(3 * a->buffer->shape[0].value() < 16);
    });
}

TEST_CASE("an average over windows that divides by the number of taps inside the image") {
  Definition d("average");
  Tensor x = d.input("x", dtype::f32, {1, 40, 8, 21});
  Tensor total = d.reduce("total", {1, 40, 8, 21}, sum_of(dtype::f32), {3, 3}, [&](Index i, Index r) {
    return x.at_or({i[0], i[1], i[2] + r[0] - 1, i[3] + r[1] - 1}, literal(dtype::f32, 0.0));
  });
  d.result("y", dtype::f32, {1, 40, 8, 21}, [&](Index i) {
    auto taps = [](const Expr& at, int64_t size) { return min(at + 2, Expr(size)) - max(at - 1, Expr(0)); };
    return total(i) / cast(dtype::f32, taps(i[2], 8) * taps(i[3], 21));
  });
  TensorFunction f = d.finish();
  check_schedule(f, {false}, {channels16(f, 0), channels16(f, 1)});
}

TEST_CASE("a mean of more than 64 values has partial sums") {
  auto has_partial_sums = [](int64_t height, int64_t width) {
    Definition d("total");
    Tensor x = d.input("x", dtype::f32, {2, 48, height, width});
    d.mark_result(d.reduce("y", {2, 48}, sum_of(dtype::f32), {height, width},
                           [&](Index i, Index r) { return x(i[0], i[1], r[0], r[1]); }));
    TensorFunction f = d.finish();
    std::vector<Layout> layouts = {channels16(f, 0), {}};
    check_schedule(f, {false}, layouts);
    return print(schedule({f, {false}, layouts, {avx2}}).variants[0]).find("partial_sum") != std::string::npos;
  };
  CHECK(has_partial_sums(14, 14));
  CHECK(has_partial_sums(13, 9));
  CHECK(has_partial_sums(30, 3));
  CHECK(has_partial_sums(3, 30));
  CHECK(has_partial_sums(67, 1));
  CHECK_FALSE(has_partial_sums(7, 7));
}

TEST_CASE("a sum with a reader besides its epilogue is stored") {
  auto check = [](const std::string& results, const std::string& stages) {
    check_schedule(parse_function("tensor @f(x: f32[9, 40]) -> (" + results + R"() {
      temp t: f32[40]
      temp u: f32[40]
      )" + stages + "}"),
                   {false});
  };
  check("s: f32[40], y: f32[40]", "s[c < 40] = sum(p < 9) { x[p, c] } y[c < 40] = s[c] * 0.5");
  check("y: f32[40]", "t[c < 40] = sum(p < 9) { x[p, c] } u[c < 40] = t[c] * 0.5 y[c < 40] = t[39 - c] + u[c]");
}

TEST_CASE("a run of equal tiles is one entry of the list of tiles") {
  auto text = [](int64_t extent, int64_t most, const std::function<bool(int64_t, int64_t)>& alone = nullptr) {
    std::string list;
    for (const EqualTiles& t : split_evenly(extent, most, alone))
      list += fmt::format("{}x{}@{} ", t.count, t.size, t.begin);
    return list;
  };
  CHECK(text(49, 14) == "1x13@0 3x12@13 ");
  CHECK(text(48, 12) == "4x12@0 ");
  CHECK(text(49, 14, [](int64_t begin, int64_t size) { return begin == 0 || begin + size == 49; }) ==
        "1x13@0 2x12@13 1x12@37 ");
  CHECK(text(int64_t{1} << 31, 14) == text(int64_t{1} << 31, 14, [](int64_t, int64_t) { return true; }));
}
