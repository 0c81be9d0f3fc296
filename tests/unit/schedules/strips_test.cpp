// Contractions and the windows that read them, strip by strip.
#include "tensor/schedules/strips.h"

#include <doctest/doctest.h>

#include "harness.h"
#include "tensor/analysis.h"
#include "tensor/builder.h"
#include "tensor/layout.h"
#include "tensor/passes/compose.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

const Machine medium_cache{.vector_bytes = 64, .vector_registers = 32, .l2_bytes = 32 << 10};

// The second function reads the first one's result as its first parameter; the other parameters are the first's, then
// the second's.
TensorFunction chain(const TensorFunction& first, const TensorFunction& second) {
  std::vector<Buffer> params;
  std::vector<Part> parts = {{first, {}}, {second, {{0, 0}}}};
  auto add = [&](Part& part, const Buffer& like) {
    part.operands.push_back({-1, static_cast<int>(params.size())});
    params.push_back(make_buffer("p" + std::to_string(params.size()), like->type, like->shape));
  };
  for (const Buffer& p : first.params) add(parts[0], p);
  for (size_t k = 1; k < second.params.size(); ++k) add(parts[1], second.params[k]);
  return compose("chain", params, parts, {{1, 0}});
}

struct Window {
  int64_t k = 3, stride = 1, dilation = 1, pad = 1;
};
int64_t reach(int64_t extent, const Window& w) {
  return (extent + 2 * w.pad - (w.k - 1) * w.dilation - 1) / w.stride + 1;
}

TensorFunction pooling(const Shape& in, const Window& w, const Reducer& reducer, const Expr& outside) {
  Definition d("pool");
  Tensor x = d.input("x", dtype::f32, in);
  Shape out = {in[0], in[1], reach(in[2].value(), w), reach(in[3].value(), w)};
  Tensor y = d.reduce("y", out, reducer, {w.k, w.k}, [&](Index i, Index r) {
    auto at = [&](const Expr& point, const Expr& tap) {
      return point * Expr(w.stride) + tap * Expr(w.dilation) - Expr(w.pad);
    };
    std::vector<Expr> index = {i[0], i[1], at(i[2], r[0]), at(i[3], r[1])};
    return w.pad == 0 ? x(index) : x.at_or(index, outside);
  });
  d.mark_result(y);
  return d.finish();
}

// Checks that the function is planned in strips, of several numbers of rows, and computes what it defines for one to
// three workers.
void check_strips(const TensorFunction& f) {
  std::vector<bool> constant;
  std::vector<Layout> layouts;
  for (size_t k = 0; k < f.params.size(); ++k) {
    bool image =
        k == 0 || f.params[k]->shape == f.results[0]->shape || f.params[k]->shape == f.stages[0].results[0]->shape;
    constant.push_back(!image);
    layouts.push_back(image && k > 0 ? channels16(f, k) : Layout());
  }
  layouts.push_back(channels16(f, f.params.size()));
  for (int workers : {1, 2, 3}) {
    ScheduleOptions options{.threads = workers};
    for (const Machine& machine : {avx512, medium_cache, small_cache}) {
      CAPTURE(print(f));
      REQUIRE(plan_strips(f, layouts, constant, options, machine));
      check_schedule(f, constant, layouts, options, {avx512, avx2, neon, machine});
    }
    std::vector<Layout> blocked = layouts;
    blocked[0] = channels16(f, 0);
    CHECK(plan_strips(f, blocked, constant, options, medium_cache)->producer.panel % column_block == 0);
    check_schedule(f, constant, blocked, options, {medium_cache});
  }
}

void check_expansion(const Conv& c, Depthwise w, Behind behind = Behind::bounds) {
  TensorFunction first = convolution(c);
  const Shape& passed = first.results[0]->shape;
  w.n = passed[0].value(), w.c = passed[1].value(), w.h = passed[2].value(), w.w = passed[3].value();
  check_strips(chain(first, depthwise(w, behind)));
}

}  // namespace

TEST_CASE("an expansion and its depthwise convolution") {
  Conv wide{.c = 8, .h = 14, .w = 11, .o = 40, .k = 1, .pad = 0};
  for (Behind b : {Behind::nothing, Behind::bounds, Behind::sigmoid, Behind::residual}) check_expansion(wide, {}, b);
  check_expansion(wide, {.stride = 2});
  check_expansion(wide, {.k = 5, .stride = 2, .pad = 2});
  check_expansion(wide, {.dilation = 2, .pad = 2});
  check_expansion(wide, {.pad = 0});
  check_expansion({.n = 2, .c = 5, .h = 13, .w = 7, .o = 72, .k = 1, .pad = 0, .smooth = true}, {});
  check_expansion({.c = 16, .h = 2, .w = 3, .o = 16, .k = 1, .pad = 0}, {.k = 5, .pad = 2});
  check_expansion({.c = 64, .h = 9, .w = 7, .o = 24, .k = 1, .pad = 0}, {});  // alone it would interleave terms
}

TEST_CASE("a convolution and its pooling") {
  TensorFunction stem = convolution({.c = 3, .h = 27, .w = 26, .o = 24, .stride = 2});
  const Shape& passed = stem.results[0]->shape;
  Expr zero = literal(dtype::f32, 0.0);
  check_strips(chain(stem, pooling(passed, {.stride = 2}, max_of(dtype::f32), lowest(dtype::f32))));
  check_strips(chain(stem, pooling(passed, {.k = 2, .stride = 2, .pad = 0}, max_of(dtype::f32), zero)));
  check_strips(chain(stem, pooling(passed, {.k = 3, .stride = 3}, sum_of(dtype::f32), zero)));
  check_strips(chain(stem, pooling(passed, {.k = 13, .pad = 0}, sum_of(dtype::f32), zero)));
}

TEST_CASE("strips have as many rows as the cache keeps, and equally many") {
  TensorFunction f = chain(convolution({.c = 8, .h = 14, .w = 11, .o = 32, .k = 1, .pad = 0, .epilogue = false}),
                           depthwise({.c = 32, .h = 14, .w = 11}, Behind::nothing));
  std::vector<bool> constant(f.params.size(), true);
  constant[0] = false;
  std::vector<Layout> layouts(f.params.size() + 1);
  layouts.back() = channels16(f, f.params.size());
  std::vector<int64_t> rows;
  for (const Machine& machine : {avx512, medium_cache, small_cache})
    rows.push_back(plan_strips(f, layouts, constant, {}, machine)->rows);
  CHECK(rows == std::vector<int64_t>{14, 7, 1});
}

TEST_CASE("strips are for what the cache does not keep") {
  auto pays = [](int64_t size, int64_t k) {
    TensorFunction f =
        chain(convolution({.c = 16, .h = size, .w = size, .o = 96, .k = k, .pad = k / 2, .epilogue = false}),
              depthwise({.c = 96, .h = size, .w = size}, Behind::nothing));
    std::vector<bool> constant(f.params.size(), true);
    constant[0] = false;
    return strips_pay(f, constant, {}, avx512);
  };
  CHECK(pays(112, 1));
  CHECK_FALSE(pays(28, 1));   // stays in the cache
  CHECK_FALSE(pays(112, 3));  // minimal filtering is better
}

TEST_CASE("what else reads the first result keeps it whole") {
  TensorFunction f = parse_function(R"(
    tensor @f(x: f32[1, 8, 12, 12], w: f32[32, 8, 1, 1], v: f32[32, 1, 3, 3]) -> (y: f32[1, 32, 12, 12]) {
      temp a: f32[1, 32, 12, 12]
      temp b: f32[1, 32, 12, 12]
      a[n < 1, c < 32, i < 12, j < 12] = sum(r < 8) { x[n, r, i, j] * w[c, r, 0, 0] }
      b[n < 1, c < 32, i < 12, j < 12] =
        sum(p < 3, q < 3) { (a[n, c, i + p - 1, j + q - 1] else 0.0) * v[c, 0, p, q] }
      y[n < 1, c < 32, i < 12, j < 12] = a[n, c, i, j] + b[n, c, i, j]
    })");
  CHECK_FALSE(split_at_window(f));
  check_schedule(f, {false, true, true});
}
