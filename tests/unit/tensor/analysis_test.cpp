// What the structure of a function tells: the N indices of a contraction that read the same data, and views.
#include "tensor/analysis.h"
#include "tensor/data_movement.h"

#include <doctest/doctest.h>

#include <regex>

#include "tensor/parse.h"

namespace dlcc::tensor {

TEST_CASE("the number of consecutive N indices that share their data") {
  Buffer image = make_buffer("image", dtype::f32, {8, 8});
  Var o = make_var("o"), k = make_var("k");
  auto shared = [&](const Expr& first, const Expr& second) {
    return n_per_group(*as<Load>(load(image, {first, second})), o);
  };
  Expr column = o, term = k;
  CHECK(shared(term, term) == 0);
  CHECK(shared(column, term) == 1);
  CHECK(shared(floor_div(column, Expr(32)) * Expr(8) + term, term) == 32);
  CHECK(shared(floor_div(column, Expr(32)), floor_div(column, Expr(48))) == 16);
  CHECK(shared(floor_div(column, Expr(32)), column) == 1);
  CHECK(shared(floor_div(column + term, Expr(32)), term) == 1);
}

TEST_CASE("a reshape is a view whichever axes it joins and divides") {
  auto is_view_of = [](const std::string& shape, const std::string& axes, const std::string& value) {
    Diagnostics d;
    const std::string result = std::regex_replace(axes, std::regex("\\w < "), "");
    auto parsed = parse("tensor @f<h in 1.., w in 1..>(x: f32[" + shape + "]) -> (y: f32[" + result + "]) {\ny[" +
                            axes + "] = " + value + "\n}\n",
                        "t.tir", d);
    REQUIRE_MESSAGE(parsed, d.str());
    return is_view(parsed->functions[0]);
  };
  // Channels of 16 x 16 in groups of 20, as in a group normalization.
  auto grouped = [](const std::string& group) {
    const std::string at = "(i * " + group + " + j)";
    return "x[floordiv(" + at + ", 256), floormod(floordiv(" + at + ", 16), 16), floormod(" + at + ", 16)]";
  };
  CHECK(is_view_of("640, 16, 16", "i < 32, j < 5120", grouped("5120")));
  CHECK(is_view_of("640, 16, 16", "i < 320, j < 512", grouped("512")));
  CHECK_FALSE(is_view_of("640, 16, 16", "i < 32, j < 5120", grouped("5121")));
  CHECK_FALSE(is_view_of("640, 16, 16", "i < 32, j < 5120",
                         "x[20 * i + floordiv(j, 256), floormod(j, 16), floormod(floordiv(j, 16), 16)]"));
  // Rows and columns of blocks, as behind an upsampling by pixels: only j < 2 * w makes the quotients those of i.
  auto blocks = [](const std::string& columns) {
    const std::string at = "(i * (" + columns + ") + j)";
    return "x[floordiv(" + at + ", 4 * w), floormod(floordiv(" + at + ", 2 * w), 2), floormod(floordiv(" + at +
           ", 2), w), floormod(" + at + ", 2)]";
  };
  CHECK(is_view_of("h, 2, w, 2", "i < 2 * h, j < 2 * w", blocks("2 * w")));
  CHECK_FALSE(is_view_of("h, 2, w, 2", "i < 2 * h, j < 2 * w", blocks("2 * h")));
}

}  // namespace dlcc::tensor
