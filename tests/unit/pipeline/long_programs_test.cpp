// Programs of many steps, whose run function is several functions, in all engines.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engines.h"

using namespace dlcc;

TEST_CASE("scalars of the first steps are known after hundreds of steps") {
  std::string text = R"(def @main(%x: Tensor[(3, 4), float32], %c: bool) {
    let %r = if (%c) { strided_slice(%x, begin=[1], end=[3]) } else { %x };
    let %y0 = %x;
  )";
  for (int k = 0; k < 600; ++k) text += fmt::format("let %y{} = nn.softmax(%y{});\n", k + 1, k);
  text += "(%y600, nn.softmax(%r, axis=0)) }";
  for (unsigned seed : {0, 1, 2, 5}) {
    CAPTURE(seed);
    CHECK(difference_of_engines(seed, text, {{dtype::f32, {3, 4}}, {dtype::boolean, {}}}) == "");
  }
}
