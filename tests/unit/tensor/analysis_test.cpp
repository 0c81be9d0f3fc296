// The N indices of a contraction that read the same data.
#include "tensor/analysis.h"

#include <doctest/doctest.h>

namespace dlcc::tensor {

TEST_CASE("the number of consecutive N indices that share their data") {
  Buffer image = make_buffer("image", dtype::f32, {8, 8});
  Var o = make_var("o"), k = make_var("k");
  auto shared = [&](const Expr& first, const Expr& second) {
    return n_per_group(*as<Load>(load(image, {first, second})), o);
  };
  Expr column = o, term = k;
  CHECK(shared(term, term) == 0);
  CHECK(shared(column, term) == 1);
  CHECK(shared(floor_div(column, Expr(32)) * Expr(8) + term, term) == 32);
  CHECK(shared(floor_div(column, Expr(32)), floor_div(column, Expr(48))) == 16);
  CHECK(shared(floor_div(column, Expr(32)), column) == 1);
  CHECK(shared(floor_div(column + term, Expr(32)), term) == 1);
}

}  // namespace dlcc::tensor
