// The generic schedule: stages are vectorized one after another.
#include "tensor/schedules/generic.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "harness.h"
#include "tensor/builder.h"
#include "tensor/evaluate.h"
#include "tensor/layout.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

TEST_CASE("the generic schedule computes softmax, a scalar and a long vector") {
  Definition d("softmax");
  Tensor x = d.input("x", dtype::f32, {3, 37});
  Tensor largest = d.reduce("largest", {3}, max_of(dtype::f32), {37}, [&](Index i, Index r) { return x(i[0], r[0]); });
  Tensor e = d.compute("e", dtype::f32, {3, 37}, [&](Index i) { return exp(x(i) - largest(i[0])); });
  Tensor total = d.reduce("total", {3}, sum_of(dtype::f32), {37}, [&](Index i, Index r) { return e(i[0], r[0]); });
  d.result("y", dtype::f32, {3, 37}, [&](Index i) { return e(i) / total(i[0]); });
  check_schedule(d.finish(), {false});

  Definition s("scalar");
  Tensor a = s.input("a", dtype::f32, {});
  s.result("y", dtype::f32, {}, [&](Index i) { return a(i) + a(i); });
  check_schedule(s.finish(), {false});

  Definition l("long");  // computed in chunks
  Tensor b = l.input("b", dtype::f32, {20001});
  l.result("y", dtype::f32, {20001}, [&](Index i) { return b(i) * b(i); });
  check_schedule(l.finish(), {false});
}

TEST_CASE("rows that repeat along the innermost axis, shorter and longer than a vector") {
  for (DType type : {dtype::f32, dtype::u8})
    for (int64_t period : {1, 2, 3, 8, 11, 17, 40})
      for (int64_t size : {2 * period - 1, 2 * period, 5 * period + 3, 48 * period + 1}) {
        CAPTURE(period);
        CAPTURE(size);
        Definition d("repeated");
        Tensor x = d.input("x", type, {3, 2, period + 1});
        d.result("y", type, {4, size}, [&](Index i) {
          return x(floor_mod(i[0], Expr(3)), floor_mod(i[0], Expr(2)), floor_mod(i[1], Expr(period)) + Expr(1));
        });
        check_schedule(d.finish(), {false});
      }
}

TEST_CASE("the generic schedule reduces the pairs of arg-max") {
  Definition d("argmax");
  Tensor x = d.input("x", dtype::f32, {4, 19});
  std::vector<Tensor> r =
      d.reduce_tuple({"v", "i"}, {4}, arg_max_of(dtype::f32, dtype::i64), {19}, [&](Index i, Index k) {
        return std::vector{x(i[0], k[0]), k[0]};
      });
  d.mark_result(r[1]);
  check_schedule(d.finish(), {false});
}

// The schedules combine the elements in other orders than the definition, which may change the sign of a zero only.
TEST_CASE("extremes of rows and columns are NaN if an element is, and equal to those of the definition otherwise") {
  constexpr int64_t size = 37;
  std::vector<float> rows;  // a NaN at every position of a row in turn; the last row has zeros of both signs
  for (int64_t row = 0; row <= size; ++row)
    for (int64_t k = 0; k < size; ++k)
      rows.push_back(row == size ? (k % 2 ? -0.0f : 0.0f) : k == row ? NAN : static_cast<float>((k * 7) % 13) - 6);
  std::vector<float> columns(rows.size());
  for (int64_t row = 0; row <= size; ++row)
    for (int64_t k = 0; k < size; ++k)
      columns[static_cast<size_t>(k * (size + 1) + row)] = rows[static_cast<size_t>(row * size + k)];
  for (const Reducer& reducer : {max_of(dtype::f32), min_of(dtype::f32)})
    for (bool by_row : {true, false}) {
      Definition d("extremes");
      const std::vector<int64_t> shape = by_row ? std::vector{size + 1, size} : std::vector{size, size + 1};
      Tensor x = d.input("x", dtype::f32, shape_of(shape));
      d.mark_result(d.reduce("y", {size + 1}, reducer, {size},
                             [&](Index i, Index k) { return by_row ? x(i[0], k[0]) : x(k[0], i[0]); }));
      const Constant data = Constant::of(dtype::f32, shape, by_row ? rows : columns);
      for (const Kernel& kernel : schedule({d.finish(), {false}, {{}, {}}, {avx512, avx2, neon, sse}}).variants) {
        CAPTURE(print(kernel));
        const Constant y = evaluate(kernel, std::vector{data}).results.at(0);
        for (int64_t row = 0; row < size; ++row) CHECK(std::isnan(y.number_at(row)));
        CHECK(y.number_at(size) == 0);
      }
    }
}

TEST_CASE("a concatenation writes the box of each operand, and nothing for an empty one") {
  Definition d("concat");
  Tensor a = d.input("a", dtype::f32, {2, 3}), b = d.input("b", dtype::f32, {2, 18}),
         none = d.input("c", dtype::f32, {2, 0});
  Tensor y = d.declare_result("y", dtype::f32, {2, 21});
  d.compute_box(y, {0, 0}, {2, 3}, [&](Index i) { return a(i); });
  d.compute_box(y, {0, 3}, {2, 18}, [&](Index i) { return b(i); });
  d.compute_box(y, {0, 21}, {2, 0}, [&](Index i) { return none(i); });
  check_schedule(d.finish(), {false, false, false});
}

TEST_CASE("rows of concatenated images are one axis with the axis of concatenation") {
  const Dim n = Dim::symbol({"n", 0}), h = Dim::symbol({"h", 0});
  Definition d("concat");
  Tensor a = d.input("a", dtype::f32, {n, 2, h, 3}), b = d.input("b", dtype::f32, {n, 5, h, 3});
  Tensor y = d.declare_result("y", dtype::f32, {n, 7, h, 3});
  d.compute_box(y, {0, 0, 0, 0}, {n, 2, h, 3}, [&](Index i) { return a(i); });
  d.compute_box(y, {0, 2, 0, 0}, {n, 5, h, 3}, [&](Index i) { return b(i); });
  const TensorFunction f = d.finish();
  const std::string text =
      print(schedule({f, {false, false}, std::vector<Layout>(3), {avx512}}).variants[0]);
  CHECK_MESSAGE(text.find("write y: f32[n, 21 * h]") != std::string::npos, text);
  check_symbolic_schedule(f);
}

TEST_CASE("concatenated images in channel blocks, also where a block has channels of two operands") {
  for (const std::vector<int64_t>& channels : std::vector<std::vector<int64_t>>{{32, 16, 24}, {16, 20, 12}}) {
    Definition d("concat");
    int64_t total = std::accumulate(channels.begin(), channels.end(), int64_t{0}), begin = 0;
    std::vector<Tensor> parts;
    for (int64_t c : channels) parts.push_back(d.input("p" + std::to_string(parts.size()), dtype::f32, {1, c, 3, 5}));
    Tensor y = d.declare_result("y", dtype::f32, {1, total, 3, 5});
    for (size_t k = 0; k < parts.size(); ++k) {
      d.compute_box(y, {0, begin, 0, 0}, {1, channels[k], 3, 5}, [&](Index i) { return parts[k](i); });
      begin += channels[k];
    }
    TensorFunction f = d.finish();
    Layout result = channels16(f, 3), haloed = with_halo(result, {1, total, 3, 5}, {{0, 0}, {0, 0}, {1, 1}, {2, 2}});
    for (const Layout& layout : {result, haloed}) {
      check_schedule(f, {false, false, false}, {channels16(f, 0), channels16(f, 1), channels16(f, 2), layout});
      check_schedule(f, {false, false, false}, {channels16(f, 0), Layout{}, channels16(f, 2), layout});
    }
  }
}
