// Searches for the position of the largest or smallest element of a row.
#include "tensor/schedules/row_search.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "harness.h"
#include "tensor/builder.h"
#include "tensor/evaluate.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

TensorFunction search(const Shape& shape, const Reducer& reducer, DType value, DType position, bool along_rows = true) {
  Definition d("search");
  Tensor x = d.input("x", value, shape);
  const Dim rows = shape[along_rows ? 0 : 1], reduced = shape[along_rows ? 1 : 0];
  const auto found = d.reduce_tuple({"extremum", "position"}, {rows}, reducer, {reduced}, [&](Index i, Index r) {
    return std::vector{along_rows ? x(i[0], r[0]) : x(r[0], i[0]), cast(position, r[0])};
  });
  d.mark_result(found[1]);
  return d.finish();
}

size_t stages_of(TensorFunction f, const Machine& machine = avx2) {
  divide_row_searches(f, machine);
  return f.stages.size();
}

}  // namespace

TEST_CASE("searches in rows are divided in an extremum and its position") {
  for (DType position : {dtype::i32, dtype::i64})
    for (bool last : {false, true})
      for (DType value : {dtype::f32, dtype::i8, dtype::f64})
        for (const Reducer& reducer : {arg_max_of(value, position, last), arg_min_of(value, position, last)}) {
          const TensorFunction f = search({5, 70}, reducer, value, position);
          CHECK(stages_of(f) == 2);
          check_schedule(f, {false});
        }
  const Dim n = Dim::symbol({"n"}), m = Dim::symbol({"m", 1});
  check_symbolic_schedule(search({n, m}, arg_max_of(dtype::f32, dtype::i64, false), dtype::f32, dtype::i64));
}

TEST_CASE("equal elements, infinities and NaN") {
  const float nan = std::nanf(""), most = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> rows = {{1, 3, 3, 0, 3},          {nan, 1, nan, 2, 0},
                                                {1, 2, nan, nan, 7},      {-most, -most, -most, -most, -most},
                                                {most, most, 1, most, 0}, {0.0F, -0.0F, 0.0F, -0.0F, -0.0F}};
  std::vector<float> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  const Constant x = Constant::of(dtype::f32, {6, 5}, all);
  for (bool last : {false, true})
    for (const Reducer& reducer :
         {arg_max_of(dtype::f32, dtype::i64, last), arg_min_of(dtype::f32, dtype::i64, last)}) {
      const TensorFunction f = search({6, 5}, reducer, dtype::f32, dtype::i64);
      TensorFunction divided = f;
      divide_row_searches(divided, avx2);
      CHECK(divided.stages.size() == 2);
      const std::vector<Constant> inputs = {x};
      const Constant expected = evaluate(f, inputs).results[0], got = evaluate(divided, inputs).results[0];
      for (int64_t k = 0; k < 6; ++k) {
        CAPTURE(k);
        CHECK(got.integer_at(k) == expected.integer_at(k));
      }
    }
}

TEST_CASE("reductions of pairs that are not divided") {
  const Reducer largest = arg_max_of(dtype::f32, dtype::i64, false);
  CHECK(stages_of(search({5, 70}, largest, dtype::f32, dtype::i64, false)) == 1);  // neighbouring results are lanes
  CHECK(stages_of(search({5, 70}, largest, dtype::f32, dtype::i64), Machine{.vector_bytes = 4}) == 1);
  Reducer other = largest;
  other.identity[1] = literal(dtype::i64, int64_t{7});
  CHECK(stages_of(search({5, 70}, other, dtype::f32, dtype::i64)) == 1);
  Definition d("expensive");
  Tensor x = d.input("x", dtype::f32, {5, 70});
  const auto found = d.reduce_tuple({"extremum", "position"}, {5}, largest, {70}, [&](Index i, Index r) {
    return std::vector{exp(x(i[0], r[0])), r[0]};
  });
  d.mark_result(found[1]);
  CHECK(stages_of(d.finish()) == 1);
}
