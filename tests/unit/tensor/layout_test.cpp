// Layouts: their index maps, and the packing of constants.
#include "tensor/layout.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace dlcc;
using namespace dlcc::tensor;

TEST_CASE("a channel-blocked layout maps indices to storage and back") {
  Layout l = blocked_layout({1, 24, 5, 7}, 1, 16, Layout::Tail::zero);
  CHECK(str(l) == "0:1 1/16:2 2:5 3:7 1:16 zero");
  CHECK(physical_shape(l, {1, 24, 5, 7}) == Shape{1, 2, 5, 7, 16});
  Var n = make_var("n"), c = make_var("c"), k = make_var("k"), h = make_var("h"), w = make_var("w");
  Ranges ranges{{n, {0, 0}}, {c, {0, 1}}, {k, {0, 15}}, {h, {0, 4}}, {w, {0, 6}}};
  auto physical = physical_index(l, {Expr(n), Expr(c) * 16 + k, Expr(h), Expr(w)}, ranges);
  std::string text;
  for (const Expr& e : physical) text += print(e) + " ";
  CHECK(text == "0 c h w k ");
  auto logical = logical_index(l, 4, {Expr(n), Expr(c), Expr(h), Expr(w), Expr(k)});
  CHECK(print(simplify(logical[1], ranges)) == "16 * c + k");
  CHECK(blocked_layout({1, 32, 5, 7}, 1, 16, Layout::Tail::zero).tail == Layout::Tail::none);
}

TEST_CASE("packing applies the index map and fills the tail with zeros") {
  std::vector<int64_t> shape{3, 24, 2};
  std::vector<float> values(3 * 24 * 2);
  std::iota(values.begin(), values.end(), 1.0f);
  Constant c = Constant::of(dtype::f32, shape, values);
  Layout l{{{0, 2, 2}, {1, 16, 2}, {2, 1, 2}, {1, 4, 4}, {0, 1, 2}, {1, 1, 4}}, Layout::Tail::zero};
  CHECK(str(l) == "0/2:2 1/16:2 2:2 1/4:4 0:2 1:4 zero");
  Constant p = pack(c, l);
  CHECK(p.shape() == std::vector<int64_t>{2, 2, 2, 4, 2, 4});
  for (int64_t k = 0; k < p.count(); ++k) {
    int64_t rest = k, i1 = rest % 4, i0 = (rest /= 4) % 2, m1 = (rest /= 2) % 4, x2 = (rest /= 4) % 2,
            o1 = (rest /= 2) % 2, o0 = (rest /= 2);
    int64_t x0 = o0 * 2 + i0, x1 = o1 * 16 + m1 * 4 + i1;
    float expected = x0 < 3 && x1 < 24 ? values[(x0 * 24 + x1) * 2 + x2] : 0.0f;
    REQUIRE(p.as<float>()[k] == expected);
  }
}

TEST_CASE("packing sub-byte elements and empty constants") {
  Constant c(dtype::u4, {2, 3}, {std::byte{0x21}, std::byte{0x43}, std::byte{0x65}});
  Constant p = pack(c, Layout{{{1, 1, 3}, {0, 1, 2}}});
  std::vector<int64_t> got;
  for (int i = 0; i < 6; ++i) got.push_back(p.integer_at(i));
  CHECK(got == std::vector<int64_t>{1, 4, 2, 5, 3, 6});
  CHECK(pack(Constant(dtype::f32, {0, 3}, {}), Layout{{{1, 1, 3}, {0, 1, 0}}}).count() == 0);
}
