// The evaluator against values computed by hand, and against itself with other loop kinds; its errors.
#include "tensor/evaluate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "support/float_formats.h"
#include "tensor/builder.h"
#include "tensor/parse.h"
#include "tensor/schedules/naive.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

ParsedTensorIr parsed(const std::string& text) {
  Diagnostics d;
  auto m = parse(text, "t", d);
  REQUIRE_MESSAGE(m, d.str());
  return *m;
}

std::vector<double> numbers(const Constant& c) {
  std::vector<double> v;
  for (int64_t i = 0; i < c.count(); ++i) v.push_back(is_float(c.dtype()) ? c.number_at(i) : c.integer_at(i));
  return v;
}

// The results of a unary or binary expression in x (and w) of the given types.
std::vector<double> values(const std::string& from, const std::string& to, const std::string& expression, Constant x,
                           std::optional<Constant> w = std::nullopt) {
  int64_t n = x.count();
  std::string text = fmt::format("tensor @f(x: {}[{}]{}) -> (y: {}[{}]) {{ y[i < {}] = {} }}", from, n,
                                 w ? fmt::format(", w: {}[{}]", from, n) : "", to, n, n, expression);
  std::vector<Constant> args{x};
  if (w) args.push_back(*w);
  return numbers(evaluate(parsed(text).functions[0], args).results[0]);
}

using Doubles = std::vector<double>;
constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("integer arithmetic wraps and divides as specified") {
  auto x = Constant::of<int32_t>(dtype::i32, {7}, {7, -7, 7, -7, INT32_MIN, 5, INT32_MAX});
  auto w = Constant::of<int32_t>(dtype::i32, {7}, {2, 2, -2, -2, -1, 0, 1});
  CHECK(values("i32", "i32", "x[i] / w[i]", x, w) == Doubles{3, -3, -3, 3, INT32_MIN, 0, INT32_MAX});
  CHECK(values("i32", "i32", "rem(x[i], w[i])", x, w) == Doubles{1, -1, 1, -1, 0, 0, 0});
  CHECK(values("i32", "i32", "floordiv(x[i], w[i])", x, w) == Doubles{3, -4, -4, 3, INT32_MIN, 0, INT32_MAX});
  CHECK(values("i32", "i32", "floormod(x[i], w[i])", x, w) == Doubles{1, 1, -1, -1, 0, 0, 0});
  CHECK(values("i32", "i32", "x[i] + w[i]", x, w) == Doubles{9, -5, 5, -9, INT32_MAX, 5, INT32_MIN});
  CHECK(values("i32", "i32", "x[i] * x[i]", x) == Doubles{49, 49, 49, 49, 0, 25, 1});
  CHECK(values("i32", "i32", "neg(x[i])", x) == Doubles{-7, 7, -7, 7, INT32_MIN, -5, -INT32_MAX});
  CHECK(values("i32", "i32", "x[i] << w[i]", x, w) == Doubles{28, -28, 0, 0, 0, 5, -2});
  CHECK(values("i32", "i32", "x[i] >> w[i]", x, w) == Doubles{1, -2, 0, -1, -1, 5, INT32_MAX >> 1});
  CHECK(values("i32", "i32", "pow(x[i], w[i])", x, w) == Doubles{49, 49, 0, 0, 0, 1, INT32_MAX});
  auto u = Constant::of<uint8_t>(dtype::u8, {3}, {200, 0, 255});
  CHECK(values("u8", "u8", "x[i] + 100u8", u) == Doubles{44, 100, 99});
  CHECK(values("u8", "u8", "x[i] >> 9u8", u) == Doubles{0, 0, 0});
  CHECK(values("u8", "u8", "x[i] / 0u8", u) == Doubles{0, 0, 0});
}

TEST_CASE("min, max and comparisons of floats with NaN and zeros") {
  float nan = NAN;
  auto x = Constant::of<float>(dtype::f32, {5}, {1, nan, 2, 0.0f, -0.0f});
  auto w = Constant::of<float>(dtype::f32, {5}, {nan, 1, 3, -0.0f, 0.0f});
  auto largest = values("f32", "f32", "max(x[i], w[i])", x, w);
  CHECK((std::isnan(largest[0]) && std::isnan(largest[1]) && largest[2] == 3));
  CHECK((std::signbit(largest[3]) && !std::signbit(largest[4])));
  CHECK(values("f32", "bool", "x[i] < w[i]", x, w) == Doubles{0, 0, 1, 0, 0});
  CHECK(values("f32", "bool", "x[i] != w[i]", x, w) == Doubles{1, 1, 1, 0, 0});
  CHECK(values("f32", "bool", "isnan(x[i])", x) == Doubles{0, 1, 0, 0, 0});
  auto r = Constant::of<float>(dtype::f32, {4}, {0.5f, 1.5f, -2.5f, 2.7f});
  CHECK(values("f32", "f32", "round(x[i])", r) == Doubles{0, 2, -2, 3});
}

TEST_CASE("fused multiply-add rounds once, the plain one twice") {
  float a = 1 + 0x1p-12f;
  auto x = Constant::of<float>(dtype::f32, {1}, {a});
  CHECK(values("f32", "f32", "fma(x[i], x[i], -1.0)", x) == Doubles{0x1p-11 + 0x1p-24});
  CHECK(values("f32", "f32", "x[i] * x[i] + -1.0", x) == Doubles{0x1p-11});
  // A product half way between two floats, plus a tiny addend.
  auto y = Constant::of<float>(dtype::f32, {1}, {1 + 0x1p-23f});
  auto z = Constant::of<float>(dtype::f32, {1}, {1.5f});
  CHECK(values("f32", "f32", "fma(x[i], w[i], 1e-30)", y, z) == Doubles{1.5f + 0x1p-22f});
  CHECK(values("f32", "f32", "fma(x[i], w[i], -1e-30)", y, z) == Doubles{1.5f + 0x1p-23f});
}

TEST_CASE("casts saturate, wrap and round as specified") {
  auto x = Constant::of<float>(dtype::f32, {6}, {1e20f, -1e20f, NAN, -1.9f, 255.7f, 300.0f});
  CHECK(values("f32", "i32", "i32(x[i])", x) == Doubles{INT32_MAX, INT32_MIN, 0, -1, 255, 300});
  CHECK(values("f32", "u8", "u8(x[i])", x) == Doubles{255, 0, 0, 0, 255, 255});
  CHECK(values("f32", "bool", "bool(x[i])", x) == Doubles{1, 1, 1, 1, 1, 1});
  CHECK(values("f32", "i4", "i4(x[i])", x) == Doubles{7, -8, 0, -1, 7, 7});
  auto i = Constant::of<int32_t>(dtype::i32, {4}, {300, -1, 65536, 9});
  CHECK(values("i32", "i8", "i8(x[i])", i) == Doubles{44, -1, 0, 9});
  CHECK(values("i32", "u4", "u4(x[i])", i) == Doubles{12, 15, 0, 9});
  CHECK(values("i32", "int2", "int2(x[i])", i) == Doubles{0, -1, 0, 1});
  CHECK(values("f32", "uint2", "uint2(x[i])", x) == Doubles{3, 0, 0, 0, 3, 3});
  auto h = Constant::of<float>(dtype::f32, {4}, {1.0f + 0x1p-11f, 1e6f, -0.1f, 65520.0f});
  CHECK(values("f32", "f32", "f32(f16(x[i]))", h) == Doubles{1, inf, half_to_float(float_to_half(-0.1f)), inf});
  CHECK(values("f32", "f32", "f32(f8e4m3fn(x[i]))", h)[1] == 448);
  CHECK(std::isnan(values("f32", "f32", "f32(f8e4m3fn(x[i], wrap))", h)[1]));
  // One rounding from float64 to float16, not two.
  auto d = Constant::of<double>(dtype::f64, {1}, {1 + 0x1p-11 + 0x1p-40});
  CHECK(values("f64", "f32", "f32(f16(x[i]))", d) == Doubles{1 + 0x1p-10});
}

TEST_CASE("predicated reads, gathers and requirements") {
  auto x = Constant::of<float>(dtype::f32, {4}, {1, 2, 3, 4});
  auto f = parsed("tensor @pad(x: f32[4]) -> (y: f32[8]) { y[i < 8] = x[i - 2] else -1.0 }").functions[0];
  CHECK(numbers(evaluate(f, std::vector{x}).results[0]) == Doubles{-1, -1, 1, 2, 3, 4, -1, -1});
  auto take = parsed(
                  "tensor @take(x: f32[4], i: i64[3]) -> (y: f32[3]) {"
                  "  y[p < 3] = x[i[p] < 0 ? i[p] + 4 : i[p]] require -4 <= i[p] and i[p] < 4 : index_out_of_range }")
                  .functions[0];
  auto good = evaluate(take, std::vector{x, Constant::of<int64_t>(dtype::i64, {3}, {-1, 0, 3})});
  CHECK(good.status == Status::ok);
  CHECK(numbers(good.results[0]) == Doubles{4, 1, 4});
  auto bad = evaluate(take, std::vector{x, Constant::of<int64_t>(dtype::i64, {3}, {-1, 4, 3})});
  CHECK(bad.status == Status::index_out_of_range);
}

TEST_CASE("an index out of range is an error, but not in the arm of a select that is not taken") {
  auto x = Constant::of<float>(dtype::f32, {4}, {1, 2, 3, 4});
  auto i = Constant::of<int64_t>(dtype::i64, {3}, {1, 9, -5});
  auto wrong = parsed("tensor @f(x: f32[4], i: i64[3]) -> (y: f32[3]) { y[p < 3] = x[i[p]] }").functions[0];
  CHECK_THROWS_AS(evaluate(wrong, std::vector{x, i}), InternalError);
  auto guarded = parsed(
                     "tensor @f(x: f32[4], i: i64[3]) -> (y: f32[3]) {"
                     "  y[p < 3] = i[p] >= 0 and i[p] < 4 ? x[i[p]] * 2.0 : (i[p] < 0 ? -1.0 : x[i[p] - 8]) }")
                     .functions[0];
  CHECK(numbers(evaluate(guarded, std::vector{x, i}).results[0]) == Doubles{4, 2, -1});
  auto branch = parsed(
                    "kernel @k(read x: f32[4], read i: i64[3], write y: f32[3]) { vector p in 3 {"
                    "  if i[p] >= 0 and i[p] < 4 { y[p] = x[i[p]] } else { y[p] = 0.0 } } }")
                    .kernels[0];
  CHECK(numbers(evaluate(branch, std::vector{x, i}).results[0]) == Doubles{2, 0, 0});
  auto store = parsed(
                   "kernel @k(write y: f32[3, 29, 2]) { parallel c in 3 { parallel block in 2 { for i in 15 {"
                   "  vector l in 2 { y[c, 15 * block + i, l] = 1.0 } } } } }")
                   .kernels[0];
  CHECK_THROWS_AS(evaluate(store, std::vector<Constant>()), InternalError);
}

TEST_CASE("axes of size 0, and loops longer than the evaluator's 512 lanes") {
  auto f = parsed(
               "tensor @f(x: f32[0, 3]) -> (y: f32[0, 3], s: f32[3]) {"
               "  y[i < 0, j < 3] = x[i, j] + 1.0  s[j < 3] = sum(k < 0) { x[k, j] } }")
               .functions[0];
  auto r = evaluate(f, std::vector{Constant(dtype::f32, {0, 3}, {})});
  CHECK(r.results[0].count() == 0);
  CHECK(numbers(r.results[1]) == Doubles{0, 0, 0});
  auto g = parsed("tensor @g() -> (y: i64[5000, 3]) { y[i < 5000, j < 3] = i * 10 + j }").functions[0];
  auto y = evaluate(g, {}).results[0];
  bool all = true;
  for (int64_t k = 0; k < 15000; ++k) all &= y.integer_at(k) == k / 3 * 10 + k % 3;
  CHECK(all);
}

TEST_CASE("a vector loop runs each statement for all iterations before the next") {
  auto k = parsed(
               "kernel @k(write y: i64[4], scratch t: i64[5]) {"
               "  for i in 5 { t[i] = 100 + i }"
               "  vector i in 4 { t[i] = i  y[i] = t[i + 1] } }")
               .kernels[0];
  CHECK(numbers(evaluate(k, {}).results[0]) == Doubles{1, 2, 3, 104});
}

TEST_CASE("lane-private buffers, and loops and branches that diverge between lanes") {
  auto k = parsed(
               "kernel @k(read n: i64[6], write y: i64[6]) { vector i in 6 {"
               "  alloc local h: i64[4]"
               "  for j in 4 { h[j] = 0 }"
               "  for j in n[i] { h[rem(j, 4)] = h[rem(j, 4)] + j  if j == 2 { h[i < 4 ? i : 0] = 50 } }"
               "  y[i] = h[0] + 10 * h[1] + 100 * h[2] + 1000 * h[3] } }")
               .kernels[0];
  auto expected = [](int64_t n, int64_t i) {
    int64_t h[4] = {};
    for (int64_t j = 0; j < n; ++j) {
      h[j % 4] += j;
      if (j == 2) h[i < 4 ? i : 0] = 50;
    }
    return h[0] + 10 * h[1] + 100 * h[2] + 1000 * h[3];
  };
  std::vector<int64_t> n{0, 1, 3, 4, 9, 6};
  auto got = numbers(evaluate(k, std::vector{Constant::of(dtype::i64, {6}, n)}).results[0]);
  for (int64_t i = 0; i < 6; ++i) CHECK(got[i] == expected(n[i], i));
}

TEST_CASE("a value read before a store keeps its value") {
  auto k = parsed(
               "kernel @k(write y: f32[4]) { vector i in 4 {"
               "  alloc reg a: f32[] a[] = 1.0"
               "  let t = a[]  a[] = t + 1.0  a[] = a[] * a[] + t  y[i] = a[] - t } }")
               .kernels[0];
  CHECK(numbers(evaluate(k, {}).results[0]) == Doubles{4, 4, 4, 4});
}

TEST_CASE("reductions of tuples keep the first extremum") {
  Definition d("argmax");
  Tensor x = d.input("x", dtype::f32, {2, 5});
  auto r = d.reduce_tuple({"v", "i"}, {2}, arg_max_of(dtype::f32, dtype::i64), {5}, [&](Index i, Index k) {
    return std::vector<Expr>{x(i[0], k[0]), k[0]};
  });
  d.mark_result(r[1]);
  auto c = Constant::of<float>(dtype::f32, {2, 5}, {1, 7, 3, 7, 2, 0, NAN, 9, NAN, 1});
  CHECK(numbers(evaluate(d.finish(), std::vector{c}).results[0]) == Doubles{1, 1});
}

TEST_CASE("a convolution equals the plain loops, in both precisions") {
  Definition d("conv");
  Tensor x = d.input("x", dtype::f32, {2, 3, 6, 9}), w = d.input("w", dtype::f32, {4, 3, 3, 3});
  d.reduce_result("y", dtype::f32, {2, 4, 6, 9}, sum_of(dtype::f32), {3, 3, 3}, [&](Index i, Index k) {
    return x.at_or({i[0], k[0], i[2] + k[1] - 1, i[3] + k[2] - 1}, literal(dtype::f32, 0.0)) *
           w(i[1], k[0], k[1], k[2]);
  });
  auto f = d.finish();
  std::vector<float> xs(2 * 3 * 6 * 9), ws(4 * 3 * 3 * 3);
  for (size_t i = 0; i < xs.size(); ++i) xs[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
  for (size_t i = 0; i < ws.size(); ++i) ws[i] = static_cast<float>(i * 53 % 97) / 50 - 1;
  std::vector<Constant> args{Constant::of(dtype::f32, {2, 3, 6, 9}, xs), Constant::of(dtype::f32, {4, 3, 3, 3}, ws)};
  auto single = numbers(evaluate(f, args).results[0]);
  auto twice = evaluate(f, args, Precision::float64).results[0];
  CHECK(twice.dtype() == dtype::f64);
  double worst_single = 0, worst_double = 0;
  for (int64_t k = 0; k < twice.count(); ++k) {
    int64_t q = k % 9, h = k / 9 % 6, o = k / 54 % 4, n = k / 216;
    double s = 0;
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t r = -1; r <= 1; ++r)
        for (int64_t t = -1; t <= 1; ++t)
          if (h + r >= 0 && h + r < 6 && q + t >= 0 && q + t < 9)
            s += double{xs[((n * 3 + c) * 6 + h + r) * 9 + q + t]} * ws[((o * 3 + c) * 3 + r + 1) * 3 + t + 1];
    worst_single = std::max(worst_single, std::abs(s - single[k]));
    worst_double = std::max(worst_double, std::abs(s - twice.number_at(k)));
  }
  CHECK(worst_single < 1e-5);
  CHECK(worst_double < 1e-13);
}

TEST_CASE("loop kinds do not change the results of independent iterations") {
  // One kernel with masks, gathers, lane-private arrays and narrow types, its loop kinds permuted.
  const char* body =
      R"(kernel @k(read x: f16[7, 11], read i: i64[7], write y: f32[7, 11], write z: u8[7, 11], scratch t: i4[7, 11]) {
  %0 a in 7 {
    %1 b in 11 {
      alloc local p: f32[3]
      for c in 3 {
        p[c] = f32((x[a + c - 1, b * 2 - c] else 1.0f16)) * f32(c + 1)
      }
      t[a, b] = i4(p[0] + p[1])
      if i[a] > b {
        y[a, b] = p[floormod(i[a] + b, 3)] + tanh(p[2])
        z[a, b] = u8(b)
      } else {
        y[a, b] = (i[a] >= 0 and i[a] < 7 ? f32(x[i[a], b]) : 0.5) - p[1]
        z[a, b] = u8(i8(t[a, b])) + 1u8
      }
    }
  }
})";
  std::vector<uint16_t> xs;
  for (int k = 0; k < 77; ++k) xs.push_back(float_to_half(static_cast<float>(k * 29 % 31) - 12.5f));
  std::vector<Constant> args{Constant::of(dtype::f16, {7, 11}, xs),
                             Constant::of<int64_t>(dtype::i64, {7}, {3, -2, 6, 40, 0, 8, 5})};
  std::vector<std::vector<double>> all;
  for (const char* outer : {"for", "parallel", "vector", "unrolled"})
    for (const char* inner : {"for", "vector", "parallel"}) {
      std::string text = body;
      text.replace(text.find("%0"), 2, outer);
      text.replace(text.find("%1"), 2, inner);
      auto r = evaluate(parsed(text).kernels[0], args);
      auto values = numbers(r.results[0]);
      for (double v : numbers(r.results[1])) values.push_back(v);
      all.push_back(values);
    }
  for (const auto& v : all) CHECK(v == all[0]);
}

TEST_CASE("strided buffers and repeated evaluation") {
  auto k = parsed(
               "kernel @k(read x: i8[2, 3] strides [8, 2], write y: i8[3, 2] strides [5, 1]) {"
               "  for i in 2 { vector j in 3 { y[j, i] = x[i, j] } } }")
               .kernels[0];
  auto r = evaluate(k, std::vector{Constant::of<int8_t>(dtype::i8, {2, 3}, {1, 2, 3, 4, 5, 6})});
  CHECK(numbers(r.results[0]) == Doubles{1, 4, 2, 5, 3, 6});
}
