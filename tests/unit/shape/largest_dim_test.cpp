// Upper bounds of dims by bounds of their symbols.
#include "shape/largest_dim.h"

#include <doctest/doctest.h>

#include <random>

using namespace dlcc;

namespace {

const Dim n = size_symbol("n"), m = size_symbol("m");        // not bounded
const Dim a = Dim::symbol({"?1"}), b = Dim::symbol({"?2"});  // at most n, at most 2 * m
const SymbolBounds bounds = {{"?1", n}, {"?2", Dim(2) * m}};

std::string largest(const Dim& d) { return largest_dim(d, bounds).str(); }

// A random expression of the four symbols.
class RandomDims {
 public:
  explicit RandomDims(unsigned seed) : random_(seed) {}

  Dim next(int depth) {
    if (depth == 0) {
      const Dim leaves[] = {n, m, a, b, Dim(below(9) - 4)};
      return leaves[below(5)];
    }
    const Dim x = next(depth - 1), y = next(below(depth));
    switch (below(7)) {
      case 0:
        return x + y;
      case 1:
        return x - y;
      case 2:
        return x * y;
      case 3:
        return floor_div(x, y);
      case 4:
        return floor_mod(x, y);
      case 5:
        return min(x, y);
      default:
        return max(x, y);
    }
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("each symbol of a bound has the value at which the dim is largest") {
  CHECK(largest(a + b) == "2 * m + n");
  CHECK(largest(n - a) == "n");
  CHECK(largest(Dim(4) * a * m) == "4 * m * n");
  CHECK(largest(max(a, m) - min(b, 3)) == "max(m, n)");
  CHECK(largest(floor_div(a + 1, 2)) == "floor_div(n + 1, 2)");
}

TEST_CASE("factors of a product may be negative") {
  const Dim half = Dim(0) - floor_div(Dim(0) - m, 2);  // m / 2, rounded up
  CHECK(largest_dim(a * half, bounds) == n * half);
  CHECK(largest_dim(a * (m - floor_div(m, 2)), bounds) == n * (m - floor_div(m, 2)));
  CHECK(largest_dim(Dim(0) - floor_div(Dim(0) - a, 2), bounds) == Dim(0) - floor_div(Dim(0) - n, 2));
}

TEST_CASE("no value of random dims exceeds the bound") {
  int64_t compared = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Dim d = RandomDims(seed).next(3), most = largest_dim(d, bounds);
    for (const int64_t of_n : {1, 2, 5})
      for (const int64_t of_m : {1, 3}) {
        const auto limit = most.evaluate({{"n", of_n}, {"m", of_m}});
        for (int64_t of_a = 0; of_a <= of_n; ++of_a)
          for (int64_t of_b = 0; of_b <= 2 * of_m; ++of_b) {
            const auto value = d.evaluate({{"n", of_n}, {"m", of_m}, {"?1", of_a}, {"?2", of_b}});
            if (!value || !limit) continue;
            ++compared;
            CHECK_MESSAGE(*value <= *limit, d.str() << " at n " << of_n << ", m " << of_m << ", ?1 " << of_a << ", ?2 "
                                                    << of_b << " is " << *value << ", the bound is " << most.str());
          }
      }
  }
  CHECK(compared > 100'000);
}

TEST_CASE("the bounds of int64 bound no size") {
  CHECK(min(n, INT64_MAX) == n);
  CHECK(max(INT64_MIN, min(INT64_MAX, n - m)) == n - m);
}
