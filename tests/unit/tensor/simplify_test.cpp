// The simplifier: it resolves the index expressions of layouts, and never changes a value.
#include "tensor/simplify.h"

#include <doctest/doctest.h>

#include "tensor/layout.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

struct Vars {
  Var o = make_var("o"), i = make_var("i"), j = make_var("j"), u = make_var("u");
  Ranges ranges{{o, {0, 7}}, {i, {0, 15}}, {j, {0, 3}}};
};

// The value of an int64 or bool expression of variables and literals.
int64_t value(const Expr& e, const std::map<Var, int64_t>& at) {
  Substitution s;
  for (auto [v, x] : at) s.emplace(v, Expr(x));
  Expr r = substitute(e, s);
  REQUIRE_MESSAGE(constant_integer(r).has_value(), print(r));
  return *constant_integer(r);
}

}  // namespace

TEST_CASE("divisions and remainders of block indices are simplified") {
  Vars v;
  Expr x = Expr(v.o) * 16 + v.i;
  CHECK(print(simplify(floor_div(x, 16), v.ranges)) == "o");
  CHECK(print(simplify(floor_mod(x, 16), v.ranges)) == "i");
  CHECK(print(simplify(floor_div(x, 32), v.ranges)) == "floordiv(o, 2)");
  CHECK(print(simplify(floor_mod(x, 32), v.ranges)) == "16 * floormod(o, 2) + i");
  CHECK(print(simplify(floor_div(x + 32, 16), v.ranges)) == "o + 2");
  CHECK(print(simplify(floor_div(x - 16, 16), v.ranges)) == "o - 1");
}

TEST_CASE("divisions and remainders of nested splits are simplified") {
  Vars v;
  Expr x = (Expr(v.o) * 4 + v.j) * 16 + v.i;
  CHECK(print(simplify(floor_mod(floor_div(x, 16), 4), v.ranges)) == "j");
  CHECK(print(simplify(floor_div(floor_div(x, 16), 4), v.ranges)) == "o");
  CHECK(print(simplify(floor_div(x, 64) * 64 + floor_mod(x, 64), v.ranges)) == "64 * o + 16 * j + i");
  CHECK(print(simplify(floor_div(Expr(v.u), 5) * 10 + floor_mod(Expr(v.u), 5) * 2)) == "2 * u");
}

TEST_CASE("divisions are not distributed over a sum that may overflow") {
  Vars v;
  Expr x = Expr(v.u) * 16 + v.i;
  CHECK(print(simplify(floor_div(x, 16), v.ranges)) == "floordiv(16 * u + i, 16)");
  CHECK(print(simplify(Expr(v.u) < Expr(v.u) + 1, v.ranges)) == "u < u + 1");
}

TEST_CASE("comparisons, selects and extrema are decided by ranges") {
  Vars v;
  CHECK(print(simplify(Expr(v.o) * 16 + v.i < Expr(128), v.ranges)) == "true");
  CHECK(print(simplify(Expr(v.o) * 16 + v.i < Expr(24), v.ranges)) == "16 * o + i < 24");
  CHECK(print(simplify(Expr(v.i) - 1 >= Expr(0), v.ranges)) == "i >= 1");
  CHECK(print(simplify(select(Expr(v.i) < Expr(16), v.o, v.u), v.ranges)) == "o");
  CHECK(print(simplify(min(Expr(v.i), Expr(v.i) + v.j), v.ranges)) == "i");
  CHECK(print(simplify(max(Expr(v.i) + 1, v.i), v.ranges)) == "i + 1");
  CHECK(print(simplify(equal(Expr(v.i) + 3, Expr(v.i) + 4), v.ranges)) == "false");
}

TEST_CASE("a clamped value has the bounds of the clamp, without bounds of its own") {
  Vars v;
  const Expr x = v.u;  // of unknown range
  auto range = [&](const Expr& e) {
    const auto r = range_of(e, v.ranges);
    return r ? std::pair(r->low, r->high) : std::pair(int64_t{1}, int64_t{0});
  };
  const std::pair<int64_t, int64_t> clamped = {0, 9}, none = {1, 0};
  CHECK(range(max(min(x, Expr(9)), Expr(0))) == clamped);
  CHECK(range(min(Expr(9), max(Expr(0), x))) == clamped);
  CHECK(range(max(min(min(x, Expr(9)), Expr(20)), Expr(0))) == clamped);
  CHECK(range(min(x, Expr(9))) == none);
  CHECK(range(max(x, Expr(0))) == none);
  CHECK(range(max(max(x, Expr(9)), Expr(0))) == none);
}

TEST_CASE("the condition of a select narrows ranges in its arms") {
  Vars v;
  Expr c = Expr(v.o) * 16 + v.i < Expr(24);
  CHECK(print(simplify(select(c, select(Expr(v.o) * 16 + v.i < Expr(30), v.o, v.i), v.u), v.ranges)) ==
        "16 * o + i < 24 ? o : u");
  const Expr one(1);
  CHECK(print(simplify(select(equal(Expr(v.o), one), one, v.o), v.ranges)) == "o");
  CHECK(print(simplify(select(binary(BinaryOp::ne, v.o, one), v.o, one), v.ranges)) == "o");
  CHECK(print(simplify(select(equal(Expr(v.o), one), Expr(2), v.o), v.ranges)) == "o == 1 ? 2 : o");
}

TEST_CASE("predicated loads lose their predicate in range and become the alternative out of range") {
  Vars v;
  Buffer b = make_buffer("b", dtype::f32, {16});
  Expr zero = literal(dtype::f32, 0.0);
  CHECK(print(simplify(load(b, {Expr(v.i)}, zero), v.ranges)) == "b[i]");
  CHECK(print(simplify(load(b, {Expr(v.i) + 1}, zero), v.ranges)) == "b[i + 1] else 0.0");
  CHECK(print(simplify(load(b, {Expr(v.i) - 16}, zero), v.ranges)) == "0.0");
}

TEST_CASE("loops of one iteration, dead branches and true requirements are removed") {
  Vars v;
  Buffer b = make_buffer("b", dtype::i64, {16});
  Stmt body =
      sequence({require(Expr(v.i) < Expr(16), Status::index_out_of_range),
                if_then(Expr(v.i) < Expr(0), store(b, {Expr(v.i)}, Expr(1)), store(b, {Expr(v.i)}, Expr(v.o)))});
  Stmt s = make_stmt(For{v.i, Expr(16), LoopKind::vector, make_stmt(For{v.o, Expr(1), LoopKind::serial, body})});
  CHECK(print(simplify(s)) == "vector i in 16 {\n  b[i] = 0\n}\n");
}

TEST_CASE("random index expressions keep their values, and simplifying twice changes nothing") {
  Vars v;
  uint64_t state = 1;
  auto next = [&](int n) {
    return static_cast<int>((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) % n;
  };
  std::function<Expr(int)> make = [&](int depth) -> Expr {
    if (depth == 0) {
      Var vars[] = {v.o, v.i, v.j};
      return next(3) == 0 ? Expr(next(40) - 20) : Expr(vars[next(3)]);
    }
    Expr a = make(depth - 1), b = make(depth - 1);
    int64_t factors[] = {1, 2, 3, 4, 8, 12, 16, 64};
    Expr c(factors[next(8)]);
    switch (next(10)) {
      case 0:
        return a * c;
      case 1:
        return a - b;
      case 2:
        return floor_div(a, c);
      case 3:
        return floor_mod(a, c);
      case 4:
        return min(a, b);
      case 5:
        return max(a, b);
      case 6:
        return select(a < b, b, a + 1);
      case 7:
        return a / c;
      case 8:
        return select(logical_and(a <= Expr(5), logical_not(equal(a, b))), a, b);
      default:
        return a + b;
    }
  };
  for (int round = 0; round < 2000; ++round) {
    Expr e = make(1 + round % 4), s = simplify(e, v.ranges);
    REQUIRE_MESSAGE(structurally_equal(simplify(s, v.ranges), s),
                    (print(e) + " -> " + print(s) + " -> " + print(simplify(s, v.ranges))));
    auto bounds = range_of(e, v.ranges);
    for (int k = 0; k < 40; ++k) {
      std::map<Var, int64_t> at{{v.o, next(8)}, {v.i, next(16)}, {v.j, next(4)}};
      int64_t expected = value(e, at);
      REQUIRE_MESSAGE(value(s, at) == expected, (print(e) + " -> " + print(s)));
      if (bounds) REQUIRE_MESSAGE((bounds->low <= expected && expected <= bounds->high), print(e));
    }
  }
}
