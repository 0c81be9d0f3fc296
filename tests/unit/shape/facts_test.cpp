// Facts: proofs from equalities and inequalities.
#include "shape/facts.h"

#include <doctest/doctest.h>

#include <random>

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
  int proved = 0;
  for (int round = 0; round < 4000; ++round) {
    Facts f;
    const Dim left = some(), right = some(), low = some(), high = some(), p = some(), q = some();
    if (!f.assume_le(low, high) || !f.assume_equal(left, right)) continue;
    const bool le = f.provably_le(p, q), equal = f.apply(p) == f.apply(q);
    proved += le;
    for (int64_t a = 0; a <= 4; ++a)
      for (int64_t b = 1; b <= 4; ++b)
        for (int64_t c = -2; c <= 3; ++c) {
          const std::map<std::string, int64_t> at = {{"a", a}, {"b", b}, {"c", c}};
          if (left.evaluate(at) != right.evaluate(at) || *low.evaluate(at) > *high.evaluate(at)) continue;
          CHECK((!le || *p.evaluate(at) <= *q.evaluate(at)));
          CHECK((!equal || p.evaluate(at) == q.evaluate(at)));
        }
  }
  CHECK(proved > 100);
}

}  // namespace dlcc
