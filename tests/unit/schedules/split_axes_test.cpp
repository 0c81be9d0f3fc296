// Axes whose quotients and remainders are indices become two axes, and pairs of such indices become one.
#include "tensor/passes/split_axes.h"

#include <doctest/doctest.h>

#include "harness.h"
#include "tensor/layout.h"
#include "tensor/simplify_symbolic.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

// The stage of a function of one stage, as text, after its axes are split. The kernel computes the definition.
std::string stage_of(const std::string& text, std::vector<Layout> layouts = {}) {
  TensorFunction f = parse_function(text);
  check_symbolic_schedule(f, {}, layouts, {}, {0, 1, 2, 7, 17, 33});
  layouts.resize(f.params.size() + f.results.size());
  simplify_symbolic(f);
  split_axes(f, layouts);
  const std::string printed = print(f);
  const size_t begin = printed.find("\n  ") + 3;
  return printed.substr(begin, printed.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("an axis is split at the sizes that divide its indices") {
  CHECK(stage_of(R"(tensor @f<n in 0.., w in 0..>(x: f32[n, w, 20]) -> (y: f32[n * w, 20]) {
    y[i < n * w, k < 20] = x[floordiv(i, w), floormod(i, w), k]
  })") == "y[i < n * w, k < 20] = x[i, k]");  // the pair of indices becomes one first
  CHECK(stage_of(R"(tensor @f<n in 0.., w in 0..>(x: f32[n, 3, w, 20]) -> (y: f32[n * w, 3, 20]) {
    y[i < n * w, j < 3, k < 20] = x[floordiv(i, w), j, floormod(i, w), k]
  })") == "y[i < n, i.1 < w, j < 3, k < 20] = x[i, j, i.1, k]");
  // Window partition: two divisors of one axis, and a constant one of another.
  CHECK(stage_of(R"(tensor @f<b in 1.., h in 1.., w in 1..>(x: f32[b, h, 7, w, 7, 20]) -> (y: f32[b * h * w, 49, 20]) {
    y[i < b * h * w, j < 49, k < 20] = x[floordiv(i, h * w), floormod(floordiv(i, w), h), floordiv(j, 7), floormod(i, w), floormod(j, 7), k]
  })") == "y[i < b, i.1 < h, i.2 < w, j < 7, j.1 < 7, k < 20] = x[i, i.1, j, i.2, j.1, k]");
  // An operand that is read at the axis itself is split alike.
  CHECK(stage_of(R"(tensor @f<n in 1.., w in 1..>(x: f32[n, 3, w, 20], z: f32[n * w, 3, 20]) -> (y: f32[n * w, 3, 20]) {
    y[i < n * w, j < 3, k < 20] = x[floordiv(i, w), j, floormod(i, w), k] + z[i, j, k]
  })") == "y[i < n, i.1 < w, j < 3, k < 20] = x[i, j, i.1, k] + z[i, i.1, j, k]");
}

TEST_CASE("a quotient and a remainder by the size of a dimension are one index of both dimensions") {
  // The predicate of the joined index holds exactly if those of both indices do.
  CHECK(stage_of(R"(tensor @f<n in 1.., w in 1..>(x: f32[n, w, 20]) -> (y: f32[n + w, 20]) {
    y[i < n + w, k < 20] = x[floordiv(3 * i + 1, w), floormod(3 * i + 1, w), k] else 2.0
  })") == "y[i < n + w, k < 20] = x[3 * i + 1, k] else 2.0");
  CHECK(stage_of(R"(tensor @f<n in 1.., w in 1..>(x: f32[n, w, 20]) -> (y: f32[n + w, 20]) {
    y[i < n + w, k < 20] = x[floordiv(3 * i + 1, w), floormod(2 * i + 1, w), k] else 2.0
  })") == "y[i < n + w, k < 20] = x[floordiv(3 * i + 1, w), floormod(2 * i + 1, w), k] else 2.0");
}

TEST_CASE("axes that stay whole") {
  // The innermost axis, along which vectors run.
  CHECK(stage_of(R"(tensor @f<n in 1.., w in 1..>(x: f32[3, w, 5, n]) -> (y: f32[3, 5, n * w]) {
    y[i < 3, j < 5, k < n * w] = x[i, floormod(k, w), j, floordiv(k, w)]
  })") == "y[i < 3, j < 5, k < n * w] = x[i, floormod(k, w), j, floordiv(k, w)]");
  // A divisor that does not divide the extent.
  CHECK(stage_of(R"(tensor @f<n in 1.., w in 1..>(x: f32[n, w, 20]) -> (y: f32[n + w, 20]) {
    y[i < n + w, k < 20] = x[floordiv(i, w), 0, k] else 2.0
  })") == "y[i < n + w, k < 20] = x[floordiv(i, w), 0, k] else 2.0");
}
