// Expressions of symbolic dimensions, and queries on stages.
#include <doctest/doctest.h>

#include "tensor/analysis.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

Dim n = Dim::symbol({"n"}), m = Dim::symbol({"m"});

std::string text(const Dim& dim) { return print(Expr(dim)); }

// The value of the dimension's expression for n = 7, m = 3, in int64 arithmetic.
std::optional<int64_t> value_at_7_3(const Dim& dim) {
  Substitution values{{scalar_of({"n"}), 7}, {scalar_of({"m"}), 3}};
  return constant_integer(simplify(substitute(Expr(dim), values)));
}

}  // namespace

TEST_CASE("a symbolic dimension becomes an expression of its symbols") {
  CHECK(text(5) == "5");
  CHECK(text(n) == "n");
  CHECK(text(n * 2) == "2 * n");
  CHECK(text(n * 2 + 1) == "2 * n + 1");
  CHECK(text(n - 1) == "n - 1");
  CHECK(text(Dim(5) - n) == "-1 * n + 5");
  CHECK(text(n * m * 4 + n * n - m * 3 - 2) == "4 * m * n + n * n - 3 * m - 2");
  CHECK(text(floor_div(n + 1, 2) * 3) == "3 * floordiv(n + 1, 2)");
  CHECK(text(floor_mod(n, m)) == "floormod(n, m)");
  CHECK(text(min(n, m * 2) + max(n, m)) == "min(2 * m, n) + max(m, n)");
}

TEST_CASE("the expression of a dimension has the dimension's value") {
  const std::map<std::string, Dim> values{{"n", 7}, {"m", 3}};
  for (const Dim& dim : {n * 2, n * m * 4 - n * n, Dim(5) - n * 3, floor_div(n * 3 - m, 4) + floor_mod(n, m * 2),
                         min(n, m * 2) * max(n, m), n * Dim(INT64_MIN / 4) + 1, m * Dim(INT64_MIN / 4) * 4})
    if (Dim expected = dim.substitute(values); expected.is_constant()) CHECK(value_at_7_3(dim) == expected.value());
}

TEST_CASE("division of a dimension by zero gives zero, as in expressions") {
  CHECK(floor_div(n, 0) == Dim(0));
  CHECK(floor_mod(n, 0) == Dim(0));
  CHECK(constant_integer(simplify(floor_mod(Expr(7), Expr(0)))).value_or(0) == 0);
}

TEST_CASE("a stage reads a buffer in its values and in its requirements") {
  Buffer x = make_buffer("x", dtype::i64, {4}), y = make_buffer("y", dtype::i64, {4}),
         z = make_buffer("z", dtype::i64, {4});
  Var i = make_var("i");
  Stage stage{.results = {z},
              .axes = {{i, 4}},
              .values = {load(x, {i})},
              .requirements = {{load(y, {i}) < Expr(4), Status::index_out_of_range}}};
  CHECK(reads(stage, x));
  CHECK(reads(stage, y));
  CHECK_FALSE(reads(stage, z));
}

TEST_CASE("an overflowed dimension has no expression") { CHECK_THROWS_AS(Expr(n * Dim(INT64_MAX) * 2), InternalError); }
