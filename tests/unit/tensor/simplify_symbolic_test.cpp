// Simplification under facts about symbolic sizes.
#include "tensor/simplify_symbolic.h"

#include <doctest/doctest.h>

#include "tensor/ir.h"
#include "tensor/parse.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

// The value of the only stage of a function with parameter x: f32[h, w], after simplification.
std::string simplified(const std::string& axes, const std::string& value) {
  Diagnostics errors;
  auto parsed =
      parse("tensor @f<h in 1.., w in 1..>(x: f32[h, w]) -> (y: f32[h, 4 * w]) {\n  y[" + axes + "] = " + value + "\n}",
            "t.tir", errors);
  REQUIRE_MESSAGE(parsed, errors.str());
  TensorFunction& f = parsed->functions[0];
  simplify_symbolic(f);
  const std::string text = print(f);
  const size_t begin = text.find("= ", text.find("{")) + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("quotients and remainders of row-major positions") {
  const std::string axes = "i < h, j < 4 * w";
  CHECK(simplified(axes, "x[floordiv(4 * w * i + j, 4 * w), floordiv(j, 4)]") == "x[i, floordiv(j, 4)]");
  CHECK(simplified(axes, "x[i, floormod(floordiv(4 * w * i + j, 4), w)]") == "x[i, floordiv(j, 4)]");
  CHECK(simplified(axes, "x[i, floormod(j, w)]") == "x[i, floormod(j, w)]");
}

TEST_CASE("quotients and remainders by sums of sizes") {
  const std::string axes = "i < h, j < 4 * w", position = "i * (4 * w + 4) + j + 3";
  CHECK(simplified(axes, "x[floordiv(" + position + ", 4 * w + 4), floordiv(j, 4)]") == "x[i, floordiv(j, 4)]");
  CHECK(simplified(axes, "x[i, floordiv(floormod(" + position + ", 4 * w + 4), 8)]") == "x[i, floordiv(j + 3, 8)]");
  CHECK(simplified(axes, "x[floordiv(i * (w + 1) + floordiv(j, 4), 2 * w + 2), floordiv(j, 4)]") ==
        "x[floordiv(i, 2), floordiv(j, 4)]");
  // The largest j + 4 is the divisor.
  CHECK(simplified(axes, "x[floordiv(i * (4 * w + 3) + j + 4, 4 * w + 3), 0]") ==
        "x[floordiv(i * (4 * w + 3) + j + 4, 4 * w + 3), 0]");
}

TEST_CASE("minima, comparisons and predicates that the sizes decide") {
  const std::string axes = "i < h, j < 4 * w";
  CHECK(simplified(axes, "x[min(i, h - 1), min(floordiv(j, 4), w - 1)]") == "x[i, floordiv(j, 4)]");
  CHECK(simplified(axes, "x[max(i, 0), max(floordiv(j, 4), -1)]") == "x[i, floordiv(j, 4)]");
  CHECK(simplified(axes, "x[min(i, w - 1), floordiv(j, 4)]") == "x[min(i, w - 1), floordiv(j, 4)]");
  CHECK(simplified(axes, "x[i, floordiv(j, 4)] else 0.0") == "x[i, floordiv(j, 4)]");
  CHECK(simplified(axes, "x[i, j] else 0.0") == "x[i, j] else 0.0");
  CHECK(simplified(axes, "i < h ? x[i, floordiv(j, 4)] : 1.0") == "x[i, floordiv(j, 4)]");
  CHECK(simplified(axes, "j >= 4 * w ? x[i, 0] : 1.0") == "1.0");
  CHECK(simplified(axes, "j >= w ? x[i, 0] : 1.0") == "j >= w ? x[i, 0] : 1.0");
}
