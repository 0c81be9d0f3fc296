// The least sizes of inputs that a run can have.
#include "pipeline/least_sizes.h"

#include <doctest/doctest.h>

#include "engines.h"
#include "frontends/frontend.h"

using namespace dlcc;

namespace {

std::string accepted(const std::string& text, const std::map<std::string, SizeRange>& dims = {}) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {.dims = dims}, d);
  REQUIRE_MESSAGE(module, d.str());
  std::string ranges;
  for (const auto& [name, range] : ranges_of_accepted_sizes(*module)) ranges += name + "=" + range.str() + " ";
  return ranges;
}

std::string pooled(const std::string& window) {
  return "def @main(%x: Tensor[(n, 1, h, w), float32]) { nn.max_pool2d(%x, " + window + ") }";
}

SizeRange range(int64_t low, int64_t high, int64_t multiple = 1, int64_t typical = 0) {
  SizeRange r;
  r.low = low, r.high = high, r.multiple = multiple, r.typical = typical;
  return r;
}

}  // namespace

TEST_CASE("an image has at least the size of a window") {
  CHECK(accepted(pooled("pool_size=[5, 3]")) == "h=5.. w=3.. ");
  CHECK(accepted(pooled("pool_size=[5, 3], padding=[2, 1]")).empty());
  CHECK(accepted(pooled("pool_size=[5, 3], strides=[7, 2]")) == "h=5.. w=3.. ");
  CHECK(accepted(R"(def @main(%x: Tensor[(1, 1, h, 9), float32]) {
    nn.avg_pool2d(nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2]), pool_size=[4, 1])
  })") == "h=9.. ");
}

TEST_CASE("sizes are within the bounds of the tensor functions that they are passed to") {
  const std::string text = R"(tensor @f<s in 6..9>(p0: f32[s, 2 * s]) -> (result: f32[6]) {
  result[i0 < 6] = p0[i0, 3] * 2.0
}
def @main(%x: Tensor[(t, 2 * t), float32]) { call_tensor(@f, %x) })";
  CHECK(accepted(text) == "t=6.. ");
  for (int64_t size : {5, 6, 9, 10}) {
    CAPTURE(size);
    CHECK(difference_of_engines(static_cast<unsigned>(size), text, {{dtype::f32, {size, 2 * size}}}) == "");
  }
}

TEST_CASE("accepted sizes are in the range that the caller gives") {
  const std::string text = pooled("pool_size=[9, 1]");
  CHECK(accepted(text, {{"h", range(2, 64)}}) == "h=9..64 ");
  CHECK(accepted(text, {{"h", range(16, 64)}}).empty());
  CHECK(accepted(text, {{"h", range(4, 64, 4, 8)}}) == "h=12..64:4@12 ");
  CHECK(accepted(text, {{"h", range(2, 9)}}).empty());  // the size would be a number
  CHECK(accepted(text, {{"h", range(2, 10)}}) == "h=9..10 ");
}

TEST_CASE("sizes that only a branch requires, or that depend on several symbols, stay") {
  CHECK(accepted(R"(def @main(%x: Tensor[(1, 1, h, 8), float32], %c: bool) {
    if (%c) { sum(nn.max_pool2d(%x, pool_size=[5, 5])) } else { sum(%x) }
  })").empty());
  CHECK(accepted(R"(def @main(%x: Tensor[(1, 1, a, 8), float32], %y: Tensor[(1, 1, b, 8), float32]) {
    nn.max_pool2d(concatenate((%x, %y), axis=2), pool_size=[5, 5])
  })").empty());
}
