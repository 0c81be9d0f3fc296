// Bounds of sizes that change in the iterations of a loop.
#include "shape/size_growth.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dlcc {
namespace {

const Dim size = size_symbol("?1"), count = size_symbol("?2"), rest = size_symbol("?3");
const Dim n = size_symbol("n"), m = size_symbol("m");

bool is_inner(const Dim& d) {
  return std::ranges::any_of(d.symbols(), [](const Symbol& s) { return s.name[0] == '?'; });
}

// The bound as "increment, least".
std::string growth_of(const Dim& after, const std::map<std::string, Dim>& largest = {}) {
  const auto growth = size_growth(after, size, largest, is_inner);
  return growth ? growth->increment.str() + ", " + growth->least.str() : "none";
}

}  // namespace

TEST_CASE("the growth of a size that changes by an expression") {
  CHECK(growth_of(size) == "0, 0");
  CHECK(growth_of(size + n) == "n, 0");
  CHECK(growth_of(size - 2) == "0, 0");
  CHECK(growth_of(n + 1) == "0, n + 1");
  CHECK(growth_of(floor_div(size, 2)) == "0, 0");
  CHECK(growth_of(Dim(2) * size) == "none");
  CHECK(growth_of(size * n) == "none");
}

TEST_CASE("the growth of a size that a condition or data decide") {
  CHECK(growth_of(max(size, n)) == "0, n");
  CHECK(growth_of(max(size + m, n)) == "m, n");
  CHECK(growth_of(min(Dim(2) * size, size + n)) == "n, 0");
  CHECK(growth_of(min(Dim(2) * size, size * n)) == "none");
  CHECK(growth_of(min(size + n, m)) == "0, m");
  CHECK(growth_of(Dim(2) * size - max(size - 1, n)) == "1, 0");
  CHECK(growth_of(Dim(2) * size - min(size - 1, n)) == "none");
  CHECK(growth_of(min(size, m) + n) == "0, m + n");
  CHECK(growth_of(max(Dim(2) * size, n)) == "none");
  // Broadcasting of two sizes, each of which may be 0.
  CHECK(growth_of(max(size, n) * min(size, 1)) == "0, n");
}

TEST_CASE("the growth of a size that depends on other sizes of the iteration") {
  CHECK(growth_of(count) == "none");
  CHECK(growth_of(count, {{"?2", size}}) == "0, 0");
  CHECK(growth_of(size + count, {{"?2", n}}) == "n, 0");
  CHECK(growth_of(count, {{"?2", max(size + 1, rest)}, {"?3", n}}) == "1, n");
  CHECK(growth_of(size + n - count, {{"?2", n}}) == "n, 0");
  CHECK(growth_of(size + count, {{"?2", rest}}) == "none");
  CHECK(growth_of(size + count, {{"?2", rest}, {"?3", count}}) == "none");
}

}  // namespace dlcc
