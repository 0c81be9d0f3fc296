#include "tensor/slice_length.h"

#include <doctest/doctest.h>

#include "tensor/builder.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

TEST_CASE("the length of a slice between two indices that are limited alike") {
  const Expr i = make_var("i"), n = make_var("n"), zero(0);
  const Var begin = make_var("begin");
  auto limited = [&](const Expr& at) { return max(min(at, n), zero); };
  auto length = [&](const Expr& begin, const Expr& end) { return select(end > begin, end - begin, zero); };
  CHECK(largest_slice_length(length(limited(i), limited(i + Expr(3)))) == 3);
  CHECK(largest_slice_length(length(i, i + Expr(3))) == 3);
  CHECK(largest_slice_length(length(limited(i), limited(i - Expr(1)))) == 0);
  CHECK(largest_slice_length(length(limited(i), limited(n))) == std::nullopt);
  CHECK(largest_slice_length(length(limited(i), min(i + Expr(3), n))) == std::nullopt);
  CHECK(largest_slice_length(length(min(i, Expr(5)), min(i + Expr(3), n))) == std::nullopt);
  CHECK(largest_slice_length(limited(i + Expr(3)) - limited(i)) == std::nullopt);
  CHECK(largest_slice_length(select(i > n, i - n, Expr(7))) == std::nullopt);

  SUBCASE("with definitions of variables") {
    auto define = [&](const Expr& e) { return substitute(e, {{begin, i + Expr(4)}}); };
    CHECK(largest_slice_length(length(limited(begin), limited(i + Expr(7)))) == std::nullopt);
    CHECK(largest_slice_length(length(limited(begin), limited(i + Expr(7))), define) == 3);
  }
  SUBCASE("where negative indices count from the end") {
    auto from_end = [&](const Expr& at, const Expr& extent) { return select(at < zero, at + extent, at); };
    auto index = [&](const Expr& at, const Expr& extent) { return limited(from_end(limited(at), extent)); };
    CHECK(largest_slice_length(length(index(i, n), index(i + Expr(3), n))) == 3);
    CHECK(largest_slice_length(length(index(i, n), index(i, n))) == 0);
    CHECK(largest_slice_length(length(index(i, n), index(i - Expr(1), n))) == std::nullopt);  // i = 0
    CHECK(largest_slice_length(length(index(i, n), index(i + Expr(3), n + Expr(1)))) == std::nullopt);
    CHECK(largest_slice_length(length(index(i, n), limited(i + Expr(3)))) == std::nullopt);
  }
}

}  // namespace dlcc::tensor
