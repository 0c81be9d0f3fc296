// Dimensions as expressions, and queries on stages.
#include <doctest/doctest.h>

#include "tensor/analysis.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

Dim n = Dim::symbol({"n"});

}  // namespace

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
