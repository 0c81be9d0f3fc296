// Programs with branches whose arms differ in shape.
#include <doctest/doctest.h>

#include "lower/largest_size.h"
#include "lower/program_text.h"
#include "lowering.h"

using namespace dlcc;
using namespace dlcc::lower;

namespace {

// Checks that the program gives the results of the module for either value of the condition `%c`.
Program both_ways(const std::string& params, const std::string& body) {
  const std::string text = "def @main(%given: bool, " + params + ") {\n  let %c = ";
  lowered(text + "logical_not(%given);\n" + body + "\n}");
  return lowered(text + "logical_or(%given, %given);\n" + body + "\n}");
}

}  // namespace

TEST_CASE("a branch defines the sizes of its result that differ between its arms") {
  const Program p =
      both_ways("%x: Tensor[(6, 4), float32]", "if (%c) { exp(%x) } else { strided_slice(%x, begin=[1], end=[3]) }");
  REQUIRE(p.data_sizes.size() == 1);
  CHECK(p.data_sizes[0].most == Dim(6));
  // The arms store into views of the result.
  CHECK(print(p).find("yield 6") != std::string::npos);
  CHECK(print(p).find("yield 2") != std::string::npos);
}

TEST_CASE("later operators use sizes defined by a branch") {
  both_ways("%x: Tensor[(6, 4), float32], %w: Tensor[(4, 8), float32]",
            "let %r = if (%c) { %x } else { strided_slice(%x, begin=[2], end=[5]) };\n"
            "let %y = nn.matmul(%r, %w);\n"
            "(nn.softmax(%y), sum(%y, axis=[0]), shape_of(%y, dtype=\"int64\"))");
  // The size is used although the value is not.
  both_ways("%x: Tensor[(6, 4), float32]",
            "let %r = if (%c) { exp(%x) } else { exp(strided_slice(%x, begin=[2], end=[5])) };\n"
            "shape_of(%r, dtype=\"int64\")");
}

TEST_CASE("arms with several results, some of which differ in shape") {
  const Program p = both_ways("%x: Tensor[(6, 4), float32]",
                              "let %r = if (%c) { (exp(%x), %x, sum(%x)) } else {\n"
                              "  (reshape(%x, newshape=[4, 6]), negative(%x), max(%x))\n};\n"
                              "(exp(%r.0), %r.1, %r.2)");
  CHECK(p.data_sizes.size() == 2);  // equal numbers of elements, but not equal shapes
}

TEST_CASE("nested branches, and an arm with a data-dependent size") {
  const Program nested =
      both_ways("%x: Tensor[(8, 4), float32], %d: bool",
                "let %r = if (%c) {\n"
                "  if (%d) { strided_slice(%x, begin=[0], end=[5]) } else { strided_slice(%x, begin=[4], end=[6]) }\n"
                "} else {\n  exp(%x)\n};\nsum(%r, axis=[0])");
  CHECK(nested.data_sizes.size() == 2);
  const Program counted =
      both_ways("%x: Tensor[(3, 4), float32]",
                "let %r = if (%c) {\n  let %found = nonzero(%x);\n  prefix(%found.0, %found.1)\n} else {\n"
                "  nonzero(strided_slice(%x, begin=[1], end=[2])).0\n};\n%r");
  REQUIRE(counted.data_sizes.size() == 2);
  CHECK(counted.data_sizes[1].most == Dim(12));
}

TEST_CASE("a result that both arms take from an outer value") {
  both_ways("%x: Tensor[(6, 4), float32], %y: Tensor[(2, 4), float32]", "if (%c) { %x } else { %y }");
  both_ways("%x: Tensor[(6, 4), float32], %y: Tensor[(2, 4), float32]",
            "let %r = if (%c) { let %e = exp(%x); (%e, %e) } else { (%y, %x) };\n(%r.1, %r.0)");
}

TEST_CASE("sizes that one branch defines are bounded together") {
  const Dim n = size_symbol("n");
  Program p;
  p.dims = {{"n", {"n", 1}}};
  p.data_sizes = {{{"a"}, n, 0, 1, n}, {{"b"}, n, 0, n, 1}, {{"c"}, n + 2, 1, n + 2, 1}, {{"d"}, n, 1, 1, n}};
  const LargestSizes largest(p);
  const Dim a = Dim::symbol({"a"}), b = Dim::symbol({"b"}), c = Dim::symbol({"c"}), d = Dim::symbol({"d"});
  CHECK(largest(a * b) == n);
  CHECK(largest(a * b * a).evaluate({{"n", 10}}) == 100);
  CHECK(largest((a + 1) * b) == largest(b) + n);
  CHECK(largest(a * c) == n * (n + 2));  // of two branches
  CHECK(largest(a * b * c * d * 4) == 4 * n * (n + 2));
  CHECK(largest(n - a * b) == n);
  // Of one arm at a time: the one in which the product is larger.
  const auto at = with_largest_data_sizes(p, {{"n", 10}});
  CHECK(at.at("a") * at.at("b") == 10);
  CHECK(at.at("c") == 12);
  CHECK(at.at("d") == 1);
}

TEST_CASE("results that differ in two axes, of two branches") {
  const Program p =
      both_ways("%x: Tensor[(1, 5), float32], %y: Tensor[(3, 2), float32]",
                "let %r = if (%c) { exp(%x) } else { transpose(%x, axes=[1, 0]) };\n"
                "let %s = if (%c) { transpose(%y, axes=[1, 0]) } else { exp(%y) };\n(nn.softmax(%r), %s)");
  REQUIRE(p.data_sizes.size() == 4);
  CHECK(p.data_sizes[0].branch == 0);
  CHECK(p.data_sizes[1].branch == 0);
  CHECK(p.data_sizes[2].branch == 1);
  Dim product = 1;
  for (const DataSize& d : p.data_sizes) product = product * Dim::symbol(d.symbol);
  CHECK(largest_size(p, product) == Dim(30));
  CHECK(print(p).find("data size _1 in [0, 1] or [0, 5], branch 0") != std::string::npos);
}
