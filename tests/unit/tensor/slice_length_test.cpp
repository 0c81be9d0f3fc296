#include "tensor/slice_length.h"

#include <doctest/doctest.h>

#include "tensor/builder.h"

namespace dlcc::tensor {

TEST_CASE("the length of a slice between two indices that are limited alike") {
  const Expr i = make_var("i"), n = make_var("n"), zero(0);
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
}

}  // namespace dlcc::tensor
