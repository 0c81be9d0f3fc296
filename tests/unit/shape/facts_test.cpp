// Facts: proofs from equalities and inequalities.
#include "shape/facts.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace dlcc {
namespace {

const Dim n = size_symbol("n"), m = size_symbol("m"), unknown = size_symbol("?1");
const Dim i = Dim::symbol({"i", 0}), j = Dim::symbol({"j", 0});

}  // namespace

TEST_CASE("an equality replaces a symbol, an unknown size first") {
  Facts f;
  CHECK(f.assume_equal(n * 2, unknown + 1));
  CHECK(f.apply(unknown) == n * 2 - 1);
  CHECK(f.assume_equal(m, n + 3));
  CHECK(f.apply(n) == m - 3);
  CHECK(f.apply(unknown) == m * 2 - 7);
  CHECK(f.provably_le(4, m));  // n >= 1
  CHECK_FALSE(f.assume_equal(m, 3));
  CHECK_FALSE(f.assume_equal(m, m + 1));
  CHECK(f.assume_equal(m, m));
}

TEST_CASE("an equality without a solution bounds both sides") {
  Facts f;
  CHECK(f.assume_equal(n * n, m * 2));
  CHECK(f.apply(m) == m);
  CHECK(f.provably_le(n * n, m * 2));
  CHECK(f.provably_le(m * 2, n * n));
}

TEST_CASE("facts about loop variables prove indices in bounds") {
  Facts f;
  CHECK(f.assume_le(i, n - 1));
  CHECK(f.assume_le(j, m - 1));
  CHECK(f.provably_lt(i * m + j, n * m));
  CHECK(f.provably_lt(i * 4 + 3, n * 4));
  CHECK(f.provably_le(0, n - 1 - i));
  CHECK_FALSE(f.provably_lt(i + 1, n));
  CHECK_FALSE(f.provably_lt(i * m + j + 1, n * m));
  CHECK_FALSE(f.assume_le(n, i));
  CHECK_FALSE(provably_lt(i, n));  // without the facts
}

TEST_CASE("parts of a sum without common symbols are bounded one by one") {
  Facts f;
  Dim sizes = 0, indices = 0;
  for (int k = 0; k < 40; ++k) {
    const Dim size = size_symbol("n" + std::to_string(k)), index = Dim::symbol({"i" + std::to_string(k), 0});
    f.assume_le(index, size - 1);
    sizes = sizes + size;
    indices = indices + index;
  }
  CHECK(f.provably_le(indices, sizes - 40));
  CHECK_FALSE(f.provably_le(indices, sizes - 41));
  CHECK(f.lower_bound(sizes - indices - 45) == -5);
  CHECK(f.provably_le(min(n, 7) + indices, sizes - 33));
  CHECK_FALSE(f.provably_le(min(n, 7) + indices, sizes - 34));
  CHECK_FALSE(f.provably_le(n + indices, sizes));
  const Dim a = Dim::symbol({"a", 0, 9}), b = Dim::symbol({"b", 0, 9});
  CHECK(f.provably_le(min(a, 5) + min(b, 5) + indices, sizes + a + b - 40));
  const Dim at_least_12 = size_symbol("c");
  f.assume_le(12, at_least_12);
  CHECK(f.provably_le(a + b, at_least_12 + n + 5));
  CHECK_FALSE(f.provably_le(a + b, at_least_12 + n + 4));
}

TEST_CASE("divisions leave out what the facts bound") {
  const Dim i = Dim::symbol({"i"}), j = Dim::symbol({"j"}), w = Dim::symbol({"w", 1});
  Facts f;
  f.assume_le(i + Dim(1), Dim(2) * w);
  auto divided = [&](const Dim& a, const Dim& b) {
    const auto division = f.divide(a, b);
    return division ? division->quotient.str() + ", " + division->remainder.str() : "unknown";
  };
  const Dim flat = i + Dim(2) * w * j;
  CHECK(divided(flat, Dim(2) * w) == "j, i");
  CHECK(divided(flat, Dim(4) * w) == "floor_div(j, 2), 2 * w * floor_mod(j, 2) + i");
  CHECK(divided(floor_div(flat, 2), w) == "j, floor_div(i, 2)");
  CHECK(divided(flat, 2) == "j * w + floor_div(i, 2), floor_mod(i, 2)");
  CHECK(divided(flat, w) == "2 * j + floor_div(i, w), floor_mod(i, w)");
  CHECK(divided(i, w) == "unknown");
  CHECK(divided(flat, w + Dim(1)) == "unknown");
  CHECK(divided(flat, j) == "unknown");  // j may be 0
}

TEST_CASE("random facts prove nothing that is false") {
  std::mt19937 random(7);
  auto draw = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  const std::vector<Symbol> symbols = {{"a", 0, 4}, {"b", 1, 4}, {"c", -2, 3}};
  auto some = [&] {
    Dim d = draw(-3, 3);
    for (int k = 0; k < 2; ++k) {
      Dim x = Dim::symbol(symbols[static_cast<size_t>(draw(0, 2))]),
          y = Dim::symbol(symbols[static_cast<size_t>(draw(0, 2))]);
      const int64_t kind = draw(0, 5);
      d = d + (kind == 0 ? x * y : kind == 1 ? floor_div(x, y) : kind == 2 ? min(x, y) : x) * Dim(draw(-2, 2));
    }
    return d;
  };
  int proved = 0, divided = 0;
  for (int round = 0; round < 4000; ++round) {
    Facts f;
    const Dim left = some(), right = some(), low = some(), high = some(), p = some(), q = some();
    if (!f.assume_le(low, high) || !f.assume_equal(left, right)) continue;
    const bool le = f.provably_le(p, q), equal = f.apply(p) == f.apply(q);
    const Dim divisor = Dim::symbol(symbols[1]) * Dim(draw(1, 3));
    const auto division = f.divide(p, divisor);
    proved += le, divided += division.has_value();
    for (int64_t a = 0; a <= 4; ++a)
      for (int64_t b = 1; b <= 4; ++b)
        for (int64_t c = -2; c <= 3; ++c) {
          const std::map<std::string, int64_t> at = {{"a", a}, {"b", b}, {"c", c}};
          if (left.evaluate(at) != right.evaluate(at) || *low.evaluate(at) > *high.evaluate(at)) continue;
          CHECK((!le || *p.evaluate(at) <= *q.evaluate(at)));
          CHECK((!equal || p.evaluate(at) == q.evaluate(at)));
          CHECK((!division || division->quotient.evaluate(at) == floor_div(p, divisor).evaluate(at)));
          CHECK((!division || division->remainder.evaluate(at) == floor_mod(p, divisor).evaluate(at)));
        }
  }
  CHECK(proved > 100);
  CHECK(divided > 100);
}

}  // namespace dlcc
