// Sizes that data decide, in all engines.
#include <doctest/doctest.h>

#include "engines.h"

using namespace dlcc;

namespace {

// Random inputs of several seeds, for which conditions differ.
void check_engines(const std::string& text, const std::vector<RandomInput>& inputs) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    CHECK(difference_of_engines(seed, text, inputs) == "");
  }
}

}  // namespace

TEST_CASE("branches whose arms differ in shape") {
  check_engines(R"(def @main(%c: bool, %x: Tensor[(6, 4), float32], %w: Tensor[(4, 40), float32]) {
    let %r = if (%c) { nn.relu(%x) } else { strided_slice(%x, begin=[1], end=[3]) };
    (%r, nn.matmul(%r, %w))
  })",
                {{dtype::boolean, {}}, {dtype::f32, {6, 4}}, {dtype::f32, {4, 40}}});
}

TEST_CASE("branches whose arms have symbolic shapes") {
  const std::string text = R"(def @main(%c: bool, %x: Tensor[(n, 4), float32], %y: Tensor[(m, 4), float32]) {
    let %r = if (%c) { concatenate((%x, %x), axis=0) } else { exp(%y) };
    (sum(%r, axis=[0]), nn.softmax(%r), %r)
  })";
  for (int64_t n : {1, 3, 20}) check_engines(text, {{dtype::boolean, {}}, {dtype::f32, {n, 4}}, {dtype::f32, {7, 4}}});
}

TEST_CASE("an arm whose size data count") {
  check_engines(R"(def @main(%c: bool, %x: Tensor[(5, 4), float32]) {
    let %r = if (%c) {
      let %found = argwhere(nn.relu(%x));
      prefix(%found.0, %found.1)
    } else {
      argwhere(strided_slice(%x, begin=[1], end=[2])).0
    };
    (%r, sum(%r, axis=[0]))
  })",
                {{dtype::boolean, {}}, {dtype::f32, {5, 4}}});
}
