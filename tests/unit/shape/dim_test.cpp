// Symbolic dimensions: canonical forms, division, bounds, and random dims against their values.
#include "shape/dim.h"

#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "support/diagnostics.h"
#include "support/integers.h"

namespace dlcc {
namespace {

using Values = std::map<std::string, int64_t>;

const Dim b = size_symbol("b"), s = size_symbol("s"), h = size_symbol("h"), count = size_symbol("?1");

// A random dim, and its value computed directly.
struct Sample {
  Dim dim;
  std::function<int64_t(const Values&)> value;
};

// Symbols with few values, of both signs and with zero.
const std::vector<Symbol> few = {{"n", 1, 5}, {"m", 0, 3}, {"k", -2, 2}, {"p", 2, 4}};

void for_all_values(const std::function<void(const Values&)>& visit) {
  Values values;
  std::function<void(size_t)> choose = [&](size_t i) {
    if (i == few.size()) return visit(values);
    for (int64_t v = few[i].low; v <= few[i].high; ++v) {
      values[few[i].name] = v;
      choose(i + 1);
    }
  };
  choose(0);
}

Sample random_dim(std::mt19937& random, int depth) {
  auto draw = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  if (depth == 0 || draw(0, 5) == 0) {
    if (draw(0, 2) == 0) {
      int64_t v = draw(-6, 12);
      return {v, [v](const Values&) { return v; }};
    }
    const Symbol& symbol = few[static_cast<size_t>(draw(0, 3))];
    return {Dim::symbol(symbol), [name = symbol.name](const Values& at) { return at.at(name); }};
  }
  Sample x = random_dim(random, depth - 1), y = random_dim(random, depth - 1);
  auto both = [&](Dim d, auto f) {
    return Sample{std::move(d), [f, x, y](const Values& at) { return f(x.value(at), y.value(at)); }};
  };
  switch (draw(0, 7)) {
    case 0:
      return both(x.dim - y.dim, [](int64_t p, int64_t q) { return p - q; });
    case 1:
    case 2:
      return both(x.dim * y.dim, [](int64_t p, int64_t q) { return p * q; });
    case 3:
      return both(floor_div(x.dim, y.dim), [](int64_t p, int64_t q) { return q ? floor_quotient(p, q) : 0; });
    case 4:
      return both(floor_mod(x.dim, y.dim), [](int64_t p, int64_t q) { return q ? floor_remainder(p, q) : 0; });
    case 5:
      return both(min(x.dim, y.dim), [](int64_t p, int64_t q) { return std::min(p, q); });
    case 6:
      return both(max(x.dim, y.dim), [](int64_t p, int64_t q) { return std::max(p, q); });
    default:
      return both(x.dim + y.dim, [](int64_t p, int64_t q) { return p + q; });
  }
}

std::string bounds(const Dim& d) {
  auto text = [](std::optional<int64_t> v) { return v ? fmt::format("{}", *v) : "?"; };
  return text(d.lower_bound()) + ".." + text(d.upper_bound());
}

}  // namespace

TEST_CASE("sums and products are canonical") {
  CHECK((b * s + s * b).str() == "2 * b * s");
  CHECK((b + 1) * (b - 1) == b * b - 1);
  CHECK(b - b == Dim(0));
  CHECK((s + b - s) == b);
  CHECK((Dim(0) - b - 2).str() == "-b - 2");
}

TEST_CASE("a divisor that is at least 1 cancels in its multiples") {
  CHECK(floor_div(b * s * 768, b * s) == Dim(768));
  CHECK(floor_div(b * s * 768, b * 12) == s * 64);
  CHECK(floor_div(b * s + b, b) == s + 1);
  CHECK(floor_div((s + 1) * b, s + 1) == b);
  CHECK(floor_div(h * 4 + 6, 4) == h + 1);
  CHECK(floor_div(h * 6, 4).str() == "floor_div(3 * h, 2)");
  CHECK(floor_div(h * 6 + 1, 4) == floor_div(h * 3, 2));
  CHECK(floor_div(h - 1, 2) + 1 == floor_div(h + 1, 2));
  CHECK(floor_div(floor_div(h, 2), 2) == floor_div(h, 4));
  CHECK(floor_div(floor_div(h + Dim(1), 2) + Dim(1), 2) == floor_div(h + Dim(3), 4));
  CHECK(floor_div(floor_div(h, 3) - Dim(2), 5) == floor_div(h - Dim(6), 15));
  CHECK(floor_div(b * h, b * s) == floor_div(h, s));
  CHECK(floor_div(h, -2) == floor_div(Dim(0) - h, 2));
  CHECK(floor_div(Dim::symbol({"i", 0, 7}), 8) == Dim(0));
  CHECK(floor_div(Dim::symbol({"i", 8, 15}) - 8, 8) == Dim(0));
}

TEST_CASE("the elements at each position modulo k are all elements") {
  const Dim n = Dim::symbol({"n"}), m = Dim::symbol({"m"});
  CHECK(floor_div(n, 2) + floor_div(n + 1, 2) == n);
  CHECK(floor_div(n * m + 2, 3) + floor_div(n * m, 3) + floor_div(n * m + 1, 3) + 5 == n * m + 5);
  CHECK(floor_div(n, 3) * 2 + floor_div(n + 1, 3) * 2 + m + floor_div(n + 2, 3) * 2 == 2 * n + m);
  CHECK((floor_div(n, 3) + floor_div(n + 2, 3)).str() == "floor_div(n, 3) + floor_div(n + 2, 3)");
  CHECK((floor_div(n, 2) + floor_div(n + 1, 2) * 2).str() == "floor_div(n, 2) + 2 * floor_div(n + 1, 2)");
  CHECK((floor_div(n, 2) + floor_div(m + 1, 2)).atom_count() == 4);
  CHECK(n - floor_div(n, 2) == floor_div(n + 1, 2));
  CHECK(m + n * 3 - floor_div(n + 1, 2) * 3 == m + floor_div(n, 2) * 3);
  CHECK(n - floor_div(n, 3) - floor_div(n + 2, 3) == floor_div(n + 1, 3));
  CHECK((n - floor_div(n, 3)).str() == "n - floor_div(n, 3)");
}

TEST_CASE("sizes that are rounded to a multiple are canonical") {
  const Dim n = Dim::symbol({"n"}), m = Dim::symbol({"m"});
  const Dim up = floor_div(n + 6, 7) * 7;
  CHECK(n + floor_mod(Dim(7) - floor_mod(n, 7), 7) == up);
  CHECK(n + floor_mod(n * 6, 7) == up);
  CHECK(Dim(0) - floor_div(Dim(0) - n, 7) == floor_div(n + 6, 7));
  CHECK(floor_mod(n, 2) + n == floor_div(n + 1, 2) * 2);
  CHECK(m - n * m * 2 - floor_mod(n * m * 2, 3) * 2 == m - floor_div(n * m + 2, 3) * 6);
  CHECK((n + floor_mod(n, 7)).str() == "n + floor_mod(n, 7)");
  CHECK((n * 2 + floor_mod(n * 6, 7)).str() == "2 * n + floor_mod(6 * n, 7)");
  // n - floor_mod(n, 7) is kept, but divided as a multiple of 7.
  const Dim down = n - floor_mod(n, 7);
  CHECK(down.str() == "n - floor_mod(n, 7)");
  CHECK(floor_div(down, 7) == floor_div(n, 7));
  CHECK(floor_mod(down, 7) == Dim(0));
  CHECK(floor_div(n - floor_mod(n + 3, 7) + 3, 7) == floor_div(n + 3, 7));
  CHECK(floor_div(n - floor_mod(n, 7) * 2, 7).str() == "floor_div(n - 2 * floor_mod(n, 7), 7)");
}

TEST_CASE("a divisor that may be 0 does not cancel") {
  CHECK(floor_div(count, count).str() == "min(?1, 1)");
  CHECK(floor_div(count * b, count).str() == "b * min(?1, 1)");
  CHECK(floor_div(count * b * 9 + count * 3, count * b * 3 + count) == min(count * (b * 3 + 1), 1) * 3);
  CHECK(floor_div(count * b + 1, count).str() == "floor_div(?1 * b + 1, ?1)");
  CHECK(floor_div(count + 1, count + 1) == Dim(1));
  CHECK(floor_mod(count, count) == Dim(0));
  CHECK(floor_div(0, count) == Dim(0));
  CHECK(floor_div(b, 0) == Dim(0));
  CHECK(floor_mod(b, 0) == Dim(0));
}

TEST_CASE("a factor that is 0 only if another one is 0 is left out") {
  const Dim n = size_symbol("n"), m = Dim::symbol({"m"}), k = Dim::symbol({"k"}), negative = Dim::symbol({"d", -1});
  CHECK(n * min(n, 1) == n);
  CHECK(min(n, 1) * min(n, 1) == min(n, 1));
  CHECK(min(n * m * 3, 1) == min(n, 1) * min(m, 1));
  CHECK(max(n, m) * min(n, 1) * min(max(n, m), 1) == max(n, m) * min(n, 1));
  CHECK(n * m * min(min(n, m), 1) == n * m);
  CHECK(n * m * min(n * m + k, 1) == n * m);
  CHECK(max(n * min(m, 1), k) * min(m, 1) == max(n, k) * min(m, 1));
  CHECK((n * min(m, 1)).str() == "n * min(m, 1)");
  CHECK((negative * min(negative, 1)).str() == "d * min(d, 1)");
  CHECK(max(n * min(negative, 1), k) * min(negative, 1) != max(n, k) * min(negative, 1));
  CHECK((max(n, m) * min(min(n, m), 1)).str() == "min(min(m, n), 1) * max(m, n)");
  CHECK(max(max(n, m), k) == max(max(k, n), max(n, m)));
  CHECK(min(min(n, m), k) == min(min(k, n), m));
  CHECK(min(n - 1, 1) * min(max(n - 1, m), 1) == min(n - 1, 1));
  // The sizes of a + b, (a + b) + a and ((a + b) + c) + b, where n, m and k are the sizes of a, b and c.
  auto broadcast = [](const Dim& x, const Dim& y) { return max(x, y) * min(x, 1) * min(y, 1); };
  CHECK(broadcast(broadcast(n, m), n) == broadcast(n, m));
  CHECK(broadcast(broadcast(broadcast(n, m), k), m) == broadcast(broadcast(n, m), k));
}

TEST_CASE("random sizes of broadcast results are those of their expressions") {
  std::mt19937 random(7);
  const std::vector<std::string> names = {"n", "m", "k"};
  for (int round = 0; round < 300; ++round) {
    std::vector<Dim> dims;
    for (const std::string& name : names) dims.push_back(Dim::symbol({name}));
    std::vector<std::array<size_t, 3>> steps;  // the operation and its operands
    for (int step = 0; step < 5; ++step) {
      const size_t kind = random() % 4, i = random() % dims.size(), j = random() % dims.size();
      steps.push_back({kind, i, j});
      const Dim &x = dims[i], &y = dims[j];
      dims.push_back(kind == 0   ? max(x, y) * min(x, 1) * min(y, 1)
                     : kind == 1 ? x * min(y, 1)
                     : kind == 2 ? floor_div(x * y, y)
                                 : x + y);
    }
    for (int64_t code = 0; code < 64; ++code) {
      std::map<std::string, int64_t> at;
      std::vector<int64_t> values;
      for (size_t s = 0; s < names.size(); ++s) values.push_back(at[names[s]] = (code >> (2 * s)) & 3);
      for (const auto& [kind, i, j] : steps) {
        const int64_t x = values[i], y = values[j], test = std::min<int64_t>(y, 1);
        values.push_back(kind == 0   ? std::max(x, y) * std::min<int64_t>(x, 1) * test
                         : kind == 1 ? x * test
                         : kind == 2 ? (y ? x : 0)
                                     : x + y);
      }
      CHECK_MESSAGE(dims.back().evaluate(at) == values.back(), dims.back().str());
    }
  }
}

TEST_CASE("floor_mod of dims is simplified") {
  CHECK(floor_mod(b * s * 768, b * s) == Dim(0));
  CHECK(floor_mod(h * 4 + 6, 4) == Dim(2));
  CHECK(floor_mod(h * 6, 4).str() == "2 * floor_mod(h, 2)");
  CHECK(floor_mod(h * 5 + 7, 4) == floor_mod(h + 3, 4));
  CHECK(floor_mod(b * h, b * s) == b * floor_mod(h, s));
  CHECK(floor_mod(floor_mod(h, 12) + b, 4) == floor_mod(h + b, 4));
  CHECK(floor_mod(floor_mod(h, 6) * 2, 4) == floor_mod(h, 2) * 2);
  CHECK(floor_mod(floor_mod(h, 6), 4).str() == "floor_mod(floor_mod(h, 6), 4)");
  CHECK(floor_mod(Dim::symbol({"i", 0, 7}), 8) == Dim::symbol({"i"}));
  CHECK(floor_mod(Dim::symbol({"i", 8, 15}), 8).str() == "i - 8");
}

TEST_CASE("bounds of dims follow from the bounds of symbols") {
  Symbol n{"n", 1, 64};
  Dim d = Dim::symbol(n);
  CHECK(bounds(d * 3 - 1) == "2..191");
  CHECK(bounds(Dim(10) - d) == "-54..9");
  CHECK(bounds(d * d) == "1..4096");
  CHECK(bounds(b * s) == "1..?");
  CHECK(bounds(Dim(0) - b * s) == "?..-1");
  CHECK(bounds(Dim::symbol({"k", -3, 2}) * d) == "-192..128");
  CHECK(bounds(floor_div(d, s)) == "0..64");
  CHECK(bounds(floor_mod(h, d)) == "0..63");
  CHECK(bounds(floor_mod(h, s)) == "0..?");
  CHECK(bounds(min(h, d)) == "1..64");
  CHECK(bounds(max(h, d)) == "1..?");
  CHECK(bounds(count) == "0..?");
  CHECK(min(d, INT64_MAX) == d);
  CHECK(bounds(Dim(INT64_MAX)) == fmt::format("{0}..{0}", INT64_MAX));
}

TEST_CASE("bounds of differences use the bounds of quotients and of min and max") {
  CHECK(provably_le(floor_div(h, 2) * 2, h));
  CHECK(provably_lt(h, floor_div(h, 2) * 2 + 2));
  CHECK(provably_le(floor_div(h, s) * s, h));
  CHECK(provably_lt(floor_mod(h, s), s));
  CHECK(provably_le(floor_mod(h, s), h));
  CHECK(provably_le(floor_mod(h + 5, 6), h - 1));  // floor_mod(h - 1, 6), as h >= 1
  CHECK_FALSE(provably_le(floor_mod(h + 4, 6), h - 2));
  CHECK(provably_le(min(h, s), s));
  CHECK(provably_le(min(h, s) + min(b, s), s * 2));
  CHECK(provably_le(b, max(b, s)));
  CHECK(min(h, max(h, s)) == h);
  CHECK_FALSE(provably_le(max(b, s), b));
  CHECK_FALSE(provably_le(floor_div(h + 1, 2) * 2, h));
  CHECK(provably_different(h, h + 1));
  CHECK_FALSE(provably_different(h, s));
  CHECK(may_be_equal({h, 2}, {s, 2}));
  CHECK_FALSE(may_be_equal({h, 2}, {h + 1, 2}));
  CHECK_FALSE(may_be_equal({h, 2}, {h}));
  // A slice of n >= 0 elements from the first on has n - min(n, 1) elements.
  CHECK(max(count - min(count, 1), 0) == count - min(count, 1));
}

TEST_CASE("bounds of products use the least values of their factors") {
  const Dim x = Dim::symbol({"x", 3}), y = Dim::symbol({"y", 3, 40}), k = Dim::symbol({"k", -3, 2});
  CHECK(bounds(x * b - b * 2) == "1..?");
  CHECK(bounds(x * b * 4 - b * 12) == "0..?");
  CHECK(bounds(x * b - b * 4) == "?..?");
  CHECK(bounds((x - 2) * (y - 2)) == "1..?");  // x * y - 2 * x - 2 * y + 4
  CHECK(bounds((x - 2) * (y - 2) * (b + 1)) == "2..?");
  CHECK(bounds((k + 3) * (y - 3)) == "0..185");
  CHECK(bounds((x - 2) * floor_div(y, 2) - x + 2) == "0..?");
}

TEST_CASE("bounds that were found before are those of symbols with the same bounds") {
  auto with_half = [](int64_t low, int64_t high) {
    const Dim t = Dim::symbol({"t", low, high});
    return t + floor_div(t, 2);
  };
  for (int repetition = 0; repetition < 2; ++repetition) {
    CHECK(with_half(0, INT64_MAX).lower_bound() == 0);
    CHECK(with_half(3, INT64_MAX).lower_bound() == 4);
    CHECK_FALSE(with_half(3, INT64_MAX).upper_bound());
    CHECK(with_half(3, 4).upper_bound() == 6);
    CHECK_FALSE(provably_le(5, with_half(3, 4)));
    CHECK(provably_le(4, with_half(3, 4)));
  }
}

TEST_CASE("the value of a dim is computed in checked arithmetic") {
  Dim d = b * s * 4 - floor_div(h, b) + max(s, h);
  CHECK(d.evaluate({{"b", 2}, {"s", 3}, {"h", 7}}) == 24 - 3 + 7);
  CHECK_FALSE(d.evaluate({{"b", 2}, {"s", 3}}));
  CHECK_FALSE((b * s).evaluate({{"b", int64_t{1} << 40}, {"s", int64_t{1} << 40}}));
  CHECK((b - s).evaluate({{"b", INT64_MAX}, {"s", INT64_MAX}}) == 0);
  CHECK((b * 2 - s).evaluate({{"b", int64_t{1} << 61}, {"s", 1}}) == (int64_t{1} << 62) - 1);
  CHECK_FALSE((b + s).evaluate({{"b", INT64_MAX}, {"s", INT64_MAX}}));
  CHECK_FALSE(Dim::overflow().evaluate({}));
  const Dim product = max(b - 5, 0) * s * s * h;
  CHECK(product.evaluate({{"b", 1}, {"s", int64_t{1} << 40}}) == 0);
  CHECK_FALSE(product.evaluate({{"b", 6}, {"s", int64_t{1} << 40}, {"h", 1}}));
}

TEST_CASE("overflow of int64 gives an overflowed dim") {
  Dim most = INT64_MAX;
  CHECK((most + 1).is_overflow());
  CHECK((b * most * 2).is_overflow());
  CHECK_FALSE(Dim::overflow() == Dim::overflow());
  CHECK(floor_div(INT64_MIN, -1).is_overflow());
  CHECK(floor_mod(INT64_MIN, -1) == Dim(0));
  CHECK(bounds(b * most) == fmt::format("{}..?", INT64_MAX - 1));
}

TEST_CASE("random dims have the values of their expressions, within their bounds") {
  std::mt19937 random(19);
  for (int round = 0; round < 3000; ++round) {
    Sample x = random_dim(random, 3), y = random_dim(random, 2);
    const std::string text = x.dim.str();
    const auto low = x.dim.lower_bound(), high = x.dim.upper_bound();
    const bool le = provably_le(x.dim, y.dim), lt = provably_lt(x.dim, y.dim), equal = x.dim == y.dim;
    bool right = true;
    for_all_values([&](const Values& at) {
      const int64_t v = x.value(at), w = y.value(at);
      right = right && x.dim.evaluate(at) == v && (!low || *low <= v) && (!high || v <= *high);
      right = right && (!le || v <= w) && (!lt || v < w) && (!equal || v == w);
    });
    CHECK_MESSAGE(right, text);
    std::map<std::string, Dim> some = {{"n", Dim::symbol(few[3])}, {"k", -1}};
    Dim replaced = x.dim.substitute(some);
    for_all_values([&](const Values& at) {
      Values changed = at;
      changed["n"] = at.at("p");
      changed["k"] = -1;
      right = right && replaced.evaluate(at) == x.value(changed);
    });
    CHECK_MESSAGE(right, text);
  }
}

TEST_CASE("dims that grow exponentially overflow before they take long") {
  Dim nested = h, power = h + s;
  for (int k = 0; k < 60; ++k) nested = max(floor_div(nested + s, b + k), min(nested, s * (k + 2)));
  CHECK(nested.is_overflow());
  for (int k = 0; k < 60; ++k) power = power * power + b;
  CHECK(power.is_overflow());
  Dim sum;
  for (int k = 0; k < 200; ++k) sum = sum + floor_mod(Dim::symbol({"x" + std::to_string(k)}), s + k) * b;
  CHECK(sum.lower_bound() == 0);
}

}  // namespace dlcc
