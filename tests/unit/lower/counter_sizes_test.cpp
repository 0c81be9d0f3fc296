// Sizes that are computed from the counters of loops: the conditions of the loops bound them.
#include <doctest/doctest.h>

#include "lowering.h"

namespace dlcc::lower {
namespace {

// Sums, in each iteration, as many numbers as `length` says, of a loop that counts from `first` to below `limit`.
std::string summing(const std::string& length, const std::string& limit = "%n", const std::string& first = "0i64") {
  return R"(
def @main(%x: Tensor[(m), float32], %y: Tensor[(1), float32]) -> Tensor[(1), float32] {
  let %n = take(shape_of(%x, dtype="int64"), 0i64);
  let %outer = fn (%i: int64, %v: Tensor[(1), float32]) -> Tensor[(1), float32] {
    if (less(%i, )" +
         limit + R"()) {
      let %size = reshape()" +
         length + R"(, newshape=[1]);
      %outer(%i + 1i64, %v * 0.5f + sum(broadcast_to(%y, %size), keepdims=True))
    } else { %v }
  };
  %outer()" +
         first + R"(, %y)
}
)";
}

std::string bounds(const Program& p) {
  std::string text;
  for (const DataSize& d : p.data_sizes) text += (text.empty() ? "" : ", ") + d.most.str();
  return text;
}

std::string refusal(const std::string& text) {
  Diagnostics d;
  const auto module = frontends::import_relay(text, {}, d);
  REQUIRE_MESSAGE(module, d.str());
  const std::vector<std::string> passes = {"define-sizes", "require-sizes", "fuse", "assign-layouts"};
  return lower(after_passes(*module, passes), machines, {}, d) ? "" : d.str();
}

}  // namespace

TEST_CASE("the condition of a loop bounds sizes that its counter gives") {
  CHECK(bounds(lowered(summing("%i"))) == "m - 1");
  CHECK(bounds(lowered(summing("%i + 1i64"))) == "m");
  CHECK(bounds(lowered(summing("%n - %i"))) == "m");
  CHECK(bounds(lowered(summing("%i * 2i64 + 3i64"))) == "2 * m + 1");
  CHECK(bounds(lowered(summing("minimum(%i, 2i64)"))) == "min(m - 1, 2)");
  CHECK(bounds(lowered(summing("%i + 1i64", "7i64"))) == "7");
  CHECK(bounds(lowered(summing("%i + 1i64", "%n + 2i64", "1i64"))) == "m + 2");
  CHECK(refusal(summing("%i * %i")).empty());
  CHECK(refusal(summing("%i * %i", "%n", "-3i64")).find("nothing bounds it") != std::string::npos);  // 9 at first
}

TEST_CASE("the counter of an inner loop is bounded by that of the outer one") {
  const std::string text = R"(
def @main(%x: Tensor[(m), float32], %y: Tensor[(1), float32]) -> Tensor[(1), float32] {
  let %n = take(shape_of(%x, dtype="int64"), 0i64);
  let %outer = fn (%i: int64, %v: Tensor[(1), float32]) -> Tensor[(1), float32] {
    if (less(%i, %n)) {
      let %inner = fn (%j: int64, %w: Tensor[(1), float32]) -> Tensor[(1), float32] {
        if (less(%j, %i)) {
          let %size = reshape(%j + 1i64, newshape=[1]);
          %inner(%j + 1i64, %w * 0.5f + sum(broadcast_to(%y, %size), keepdims=True))
        } else { %w }
      };
      %outer(%i + 1i64, %inner(0i64, %v))
    } else { %v }
  };
  %outer(0i64, %y)
}
)";
  CHECK(bounds(lowered(text)) == "m - 1");
}

}  // namespace dlcc::lower
