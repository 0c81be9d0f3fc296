// Reductions over dense images in register tiles: pooling, grouped convolutions, convolutions by variable weights.
#include "tensor/schedules/tiled_reduction.h"

#include <doctest/doctest.h>

#include "harness.h"
#include "tensor/builder.h"
#include "tensor/schedules/image_rows.h"
#include "tensor/schedules/shared_rows.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

struct Pooling {
  int64_t c = 5, h = 9, w = 9, k = 3, stride = 1, pad = 1;
};

TensorFunction pooling(const Pooling& p, const Reducer& reducer, const Expr& outside) {
  auto reach = [&](int64_t size) { return (size + 2 * p.pad - p.k) / p.stride + 1; };
  Definition d("pool");
  Tensor x = d.input("x", dtype::f32, {2, p.c, p.h, p.w});
  d.reduce_result("y", dtype::f32, {2, p.c, reach(p.h), reach(p.w)}, reducer, {p.k, p.k}, [&](Index i, Index r) {
    std::vector<Expr> at = {i[0], i[1], i[2] * p.stride + r[0] - p.pad, i[3] * p.stride + r[1] - p.pad};
    return p.pad == 0 ? x(at) : x.at_or(at, outside);
  });
  return d.finish();
}

bool applies(const TensorFunction& f) { return plan_tiled_reduction(f, 0, {}, avx512).has_value(); }

void check_tiled(const TensorFunction& f) {
  CAPTURE(print(f));
  REQUIRE(applies(f));
  check_schedule(f, std::vector<bool>(f.params.size(), false));
}

}  // namespace

TEST_CASE("poolings of dense images") {
  for (int64_t width : {7, 16, 33, 71})
    for (int64_t stride : {1, 2, 3}) {
      check_tiled(pooling({.w = width, .stride = stride}, max_of(dtype::f32), lowest(dtype::f32)));
      check_tiled(pooling({.w = width, .k = 2, .stride = stride, .pad = 0}, sum_of(dtype::f32), Expr()));
    }
  check_tiled(pooling({.c = 1, .h = 5, .w = 40, .k = 5, .pad = 2}, max_of(dtype::f32), literal(dtype::f32, 0.5)));
}

TEST_CASE("depthwise convolutions of dense images, with each kind of epilogue") {
  for (DepthwiseEpilogue epilogue :
       {DepthwiseEpilogue::nothing, DepthwiseEpilogue::bounds, DepthwiseEpilogue::sigmoid, DepthwiseEpilogue::residual})
    check_tiled(depthwise({.c = 6, .w = 37, .stride = epilogue == DepthwiseEpilogue::sigmoid ? 2 : 1}, epilogue));
}

TEST_CASE("grouped convolutions of dense images") {
  for (const Conv& shape :
       {Conv{.c = 6, .w = 35, .o = 9, .groups = 3}, Conv{.c = 10, .o = 20, .k = 5, .pad = 2, .groups = 5},
        Conv{.c = 4, .w = 50, .o = 8, .stride = 2, .groups = 2, .smooth = true},
        Conv{.n = 2, .c = 3, .w = 20, .o = 12, .k = 1, .pad = 0, .groups = 3}})
    check_tiled(convolution(shape));
}

TEST_CASE("channels share the vectors of a grouped convolution's data, which are in two cache lines each") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  for (const Conv& shape : {Conv{.c = 16, .h = 56, .w = 56, .o = 16, .groups = 4, .epilogue = false},
                            Conv{.c = 16, .h = h, .w = w, .o = 16, .groups = 4, .epilogue = false}}) {
    const auto plan = plan_tiled_reduction(convolution(shape), 0, {}, avx512);
    REQUIRE(plan);
    CHECK(shares_vectors(*plan, avx512));
  }
}

TEST_CASE("images of symbolic height and width") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  auto check = [](const TensorFunction& f) {
    CAPTURE(print(f));
    REQUIRE(applies(f));
    check_symbolic_schedule(f, {}, {}, {}, {1, 2, 3, 7, 16, 40, 70});
    const std::string text = print(
        schedule({f, std::vector<bool>(f.params.size(), false), std::vector<Layout>(f.params.size() + 1), {avx512}})
            .variants[0]);
    CAPTURE(text);
    CHECK(text.find("scratch padded") != std::string::npos);
    CHECK(text.find(" and ") == text.rfind(" and "));  // only the copy tests its index
  };
  check(convolution({.c = 6, .h = h, .w = w, .o = 9, .groups = 3}));
  check(convolution({.c = 4, .h = h, .w = w, .o = 8, .k = 5, .stride = 2, .pad = 2, .groups = 2, .smooth = true}));
  check(convolution({.c = 4, .h = 40, .w = w, .o = 8, .groups = 2, .epilogue = false}));
  check(convolution({.c = 4, .h = h, .w = 30, .o = 8, .groups = 2, .epilogue = false}));
  check(depthwise({.c = 3, .h = h, .w = w, .dilation = 2, .pad = 2}, DepthwiseEpilogue::residual));
}

TEST_CASE("the last tile of a symbolic number of rows overlaps another one, unless the result may replace an operand") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  auto overlaps = [&](DepthwiseEpilogue epilogue) {
    const TensorFunction f = depthwise({.c = 3, .h = h, .w = w}, epilogue);
    check_symbolic_schedule(f, {}, {}, {}, {1, 3, 4, 7, 8, 14});
    const std::string text = print(
        schedule({f, std::vector<bool>(f.params.size(), false), std::vector<Layout>(f.params.size() + 1), {avx512}})
            .variants[0]);
    CAPTURE(text);
    CHECK(text.find("min(16 * tile, w - 16)") != std::string::npos);  // the padded copy
    return text.find("min(6 * tile, h - 6)") != std::string::npos && text.find("min(3 * tile, h - 3)") != std::string::npos;
  };
  CHECK(overlaps(DepthwiseEpilogue::nothing));
  CHECK_FALSE(overlaps(DepthwiseEpilogue::residual));
}

TEST_CASE("sums along an axis of symbolic size") {
  const Dim m = Dim::symbol({"m"}), n = Dim::symbol({"n"});
  Definition d("sum");
  Tensor x = d.input("x", dtype::f32, {3, m, n});
  d.reduce_result("y", dtype::f32, {3, n}, sum_of(dtype::f32), {m},
                  [&](Index i, Index r) { return x(i[0], r[0], i[1]); });
  const TensorFunction f = d.finish();
  CHECK(applies(f));
  check_symbolic_schedule(f);
}

TEST_CASE("output channels of a group share the tile's vectors of data") {
  const TensorFunction f = convolution({.c = 8, .h = 40, .w = 64, .o = 16, .groups = 2, .epilogue = false});
  const std::string text = print(schedule({f, {false, true}, std::vector<Layout>(3), {avx512}}).variants[0]);
  CAPTURE(text);
  CHECK(text.find("alloc reg acc: f32[4, 4, 16]") != std::string::npos);
  CHECK(text.find("scratch padded: f32[1, 8, 42, 66]") != std::string::npos);
  CHECK(text.find(" and ") == text.rfind(" and "));  // only the copy tests its index
}

TEST_CASE("copies bring the elements of neighbouring results together and leave out what no result reads") {
  auto copies = [](const Conv& shape, const std::string& padded) {
    const TensorFunction f = convolution(shape);
    check_schedule(f, {false, true});
    const std::string text = print(schedule({f, {false, true}, std::vector<Layout>(3), {avx512}}).variants[0]);
    CAPTURE(text);
    CHECK(text.find("scratch padded: " + padded + " align 64") != std::string::npos);
    CHECK(text.find("2 * lane") == std::string::npos);
  };
  copies({.c = 4, .h = 11, .w = 40, .o = 8, .stride = 2, .groups = 2, .epilogue = false}, "f32[1, 4, 13, 2, 21]");
  copies({.c = 4, .h = 11, .w = 41, .o = 8, .k = 5, .stride = 3, .pad = 2, .groups = 2, .epilogue = false}, "f32[1, 4, 14, 3, 15]");
  copies({.c = 4, .h = 11, .w = 41, .o = 32, .k = 1, .stride = 3, .pad = 0, .groups = 4, .epilogue = false}, "f32[1, 4, 4, 14]");
  copies({.c = 4, .h = 12, .w = 41, .o = 32, .k = 2, .stride = 3, .pad = 1, .groups = 4, .epilogue = false}, "f32[1, 4, 10, 2, 14]");
  const Dim w = Dim::symbol({"w", 1});
  const TensorFunction symbolic = convolution({.c = 4, .w = w, .o = 8, .k = 5, .stride = 3, .pad = 2, .groups = 2});
  CHECK(applies(symbolic));
  check_symbolic_schedule(symbolic, {}, {}, {}, {1, 2, 3, 4, 9, 40, 70});
}

TEST_CASE("weights that do not fit the cache are read once for all rows, and the pixels of a 1x1 convolution are one row") {
  auto text_of = [](const Conv& shape) {
    const TensorFunction f = convolution(shape);
    check_schedule(f, {false, true});
    return print(schedule({f, {false, true}, std::vector<Layout>(3), {avx512}}).variants[0]);
  };
  const std::string rows = text_of({.c = 48, .h = 14, .w = 20, .o = 80, .groups = 2, .epilogue = false});
  CAPTURE(rows);
  CHECK(rows.find("parallel tile in 10") < rows.find("parallel i2 in 14"));
  const std::string pixels = text_of({.c = 12, .h = 7, .w = 7, .o = 20, .k = 1, .pad = 0, .groups = 2, .epilogue = false});
  CAPTURE(pixels);
  CHECK(pixels.find("read x: f32[1, 12, 49]") != std::string::npos);
  CHECK(pixels.find("alloc reg acc: f32[5, 4, 16]") != std::string::npos);
}

TEST_CASE("rows of constant width") {
  auto cut = [](int64_t width, int64_t vectors, int64_t lanes, Repetition repetition) {
    std::string text;
    for (const RowPart& part : cut_row(width, vectors, lanes, repetition))
      text += fmt::format("{}*({}x{}={}) ", part.tiles, part.first.vectors, part.first.lanes, part.first.width);
    return text;
  };
  CHECK(cut(14, 2, 8, Repetition::allowed) == "1*(2x8=14) ");
  CHECK(cut(14, 1, 8, Repetition::allowed) == "1*(1x8=8) 1*(1x8=8) ");  // the second from 6 on
  CHECK(cut(14, 2, 8, Repetition::forbidden) == "1*(1x8=8) 1*(1x4=4) 1*(1x2=2) ");
  CHECK(cut(7, 4, 8, Repetition::allowed) == "1*(2x4=7) ");
  CHECK(cut(43, 2, 8, Repetition::allowed) == "2*(2x8=16) 1*(2x8=11) ");
  CHECK(cut(32, 2, 8, Repetition::forbidden) == "2*(2x8=16) ");
  CHECK(cut(1, 4, 8, Repetition::allowed) == "1*(1x1=1) ");
}

TEST_CASE("narrow integers are summed in their own width") {
  Definition d("sum");
  Tensor x = d.input("x", dtype::i8, {3, 4, 40});
  d.reduce_result("y", dtype::i32, {3, 38}, sum_of(dtype::i32), {4, 3},
                  [&](Index i, Index r) { return cast(dtype::i32, x(i[0], r[0], i[1] + r[1])); });
  check_tiled(d.finish());
}

TEST_CASE("rows of an image that several indices read at other taps") {
  using Pairs = std::vector<std::vector<std::pair<int64_t, int64_t>>>;
  CHECK(readers_of_rows({0, 1, 1}, 2, 3) == Pairs{{{0, 0}}, {{0, 1}, {1, 0}}, {{0, 2}, {1, 1}}, {{1, 2}}});
  CHECK(readers_of_rows({0, 2, 1}, 2, 3) == Pairs{{{0, 0}}, {{0, 1}}, {{0, 2}, {1, 0}}, {{1, 1}}, {{1, 2}}});
  CHECK(readers_of_rows({0, 2, 2}, 2, 2) == Pairs{{{0, 0}}, {{0, 1}, {1, 0}}, {{1, 1}}});

  auto rows = [](const Depthwise& shape) {
    const TensorFunction f = depthwise(shape, DepthwiseEpilogue::nothing);
    const Stage stage = plan_tiled_reduction(f, 0, {}, avx512)->reduced;
    std::optional<SharedRows> found = shared_rows(stage, 3, 2);
    CHECK_FALSE(shared_rows(stage, 3, 1));  // channels
    CHECK_FALSE(shared_rows(stage, 3, -1));
    return found ? std::vector<int64_t>{found->step, found->dilation} : std::vector<int64_t>{};
  };
  CHECK(rows({.c = 4, .h = 12, .w = 20}) == std::vector<int64_t>{1, 1});
  CHECK(rows({.c = 4, .h = 12, .w = 20, .stride = 2}) == std::vector<int64_t>{2, 1});
  CHECK(rows({.c = 4, .h = 12, .w = 20, .dilation = 2, .pad = 2}) == std::vector<int64_t>{1, 2});
}

TEST_CASE("a depthwise convolution loads each row of the image once for all results of a tile that read it") {
  const TensorFunction f = depthwise({.c = 4, .h = 16, .w = 48}, DepthwiseEpilogue::nothing);
  const std::string text = print(
      schedule({f, weights_constant(f), std::vector<Layout>(f.params.size() + 1), {avx512}}).variants[0]);
  CAPTURE(text);
  // Row 2 of a tile: tap 2 of its first result, tap 1 of the second and tap 0 of the third.
  std::vector<size_t> order;
  for (const char* update : {"+ 1, 16 * v + lane + r2], w[i1, 0, 0, r2], acc[1",  //
                             "+ 2, 16 * v + lane + r2], w[i1, 0, 2, r2], acc[0",  //
                             "+ 2, 16 * v + lane + r2], w[i1, 0, 1, r2], acc[1",  //
                             "+ 2, 16 * v + lane + r2], w[i1, 0, 0, r2], acc[2",  //
                             "+ 3, 16 * v + lane + r2], w[i1, 0, 2, r2], acc[1"})
    order.push_back(text.find(update));
  CHECK(std::ranges::is_sorted(order));
  CHECK(order.back() != std::string::npos);
}

TEST_CASE("results that share no row, and too many of them for their code, have loops over taps") {
  auto has_loop_over_taps = [](const Depthwise& shape) {
    const TensorFunction f = depthwise(shape, DepthwiseEpilogue::nothing);
    const std::string text = print(
        schedule({f, weights_constant(f), std::vector<Layout>(f.params.size() + 1), {avx512}}).variants[0]);
    return text.find("for r1 in") != std::string::npos;
  };
  CHECK_FALSE(has_loop_over_taps({.c = 4, .h = 16, .w = 48, .k = 5, .pad = 2}));
  CHECK_FALSE(has_loop_over_taps({.c = 4, .h = 16, .w = 48, .k = 5, .dilation = 2, .pad = 4}));
  CHECK(has_loop_over_taps({.c = 4, .h = 16, .w = 48, .stride = 3}));
  CHECK(has_loop_over_taps({.c = 4, .h = 16, .w = 48, .k = 200, .pad = 100}));
}

TEST_CASE("functions to which register tiles of a row do not apply") {
  for (int64_t stride : {4, 5})
    CHECK_FALSE(applies(pooling({.h = 21, .w = 71, .stride = stride}, max_of(dtype::f32), lowest(dtype::f32))));
  auto applies_to = [](const std::string& body, const std::string& result = "y: f32[4, 30]") {
    return applies(parse_function("tensor @f(x: f32[4, 256], n: i64[30]) -> (" + result + ") {\n" + body + "\n}"));
  };
  CHECK(applies_to("y[i < 4, j < 30] = sum(r < 3) { x[i, j + r] }"));
  CHECK(applies_to("y[i < 4, j < 30] = sum(r < 3) { x[i, 3 * j + r] }"));
  CHECK_FALSE(applies_to("y[i < 4, j < 30] = sum(r < 3) { x[i, 8 * j + r] }"));      // far apart
  CHECK_FALSE(applies_to("y[i < 4, j < 30] = sum(r < 3) { x[i, 40 - j + r] }"));     // backwards
  CHECK_FALSE(applies_to("y[i < 4, j < 30] = sum(r < 3) { x[i, n[j]] else 0.0 }"));  // a gather
  CHECK_FALSE(applies_to("y[i < 4, j < 30] = sum(r < 3) { x[i, floordiv(j, 2) + r] }"));
  CHECK_FALSE(applies_to("y[i < 4] = sum(r < 30) { x[i, r] }", "y: f32[4]"));  // vectors along the reduced axis
  CHECK_FALSE(applies_to("y[i < 4, j < 30] = x[i, j]"));
}
