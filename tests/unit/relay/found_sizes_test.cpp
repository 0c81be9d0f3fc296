// Fusion of programs with operators that find the sizes of their results when they run.
#include "calculus.h"

using namespace dlcc;
using namespace dlcc::relay;

namespace {

std::string fused_text(const std::string& text, const std::vector<std::string>& passes) {
  Diagnostics d;
  auto module = import_text(text, d);
  REQUIRE_MESSAGE(module, d.str());
  auto fused = after(std::move(*module), passes, d);
  REQUIRE_MESSAGE(fused, d.str());
  return print(*fused);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string positions = R"(def @main() {
  let %found = nonzero(Tensor[(5), float32]{0, 3, 0, 4, 5});
  let %y = prefix(%found.0, %found.1);
  negative(%y * 2i64 + 1i64)
})";

}  // namespace

TEST_CASE("programs keep their results where fusion meets sizes that operators find") {
  const std::string rows = "Tensor[(3, 1), int64]{-3, -7, -9}";
  CHECK(result_of(positions, {}) == rows);
  CHECK(result_of(positions, {"fuse"}) == rows);
  CHECK(result_of(positions, {"fold-constants", "simplify-inference", "eliminate-dead-code", "fuse"}) == rows);
  const std::string nested = R"(def @main() {
    let %numbers = fn (%n: int64) {
      let %y: Tensor[(k), int64] = arange(0i64, %n, 1i64, dtype="int64");
      negative(%y + %y)
    };
    let %three = if (ref_read(ref(True))) {
      sum(negative(strided_slice(%numbers(5i64), stack((1i64,)), stack((sum(%numbers(2i64)) + 6i64,)), stack((1i64,)))))
    } else { 0i64 };
    (%numbers(2i64), %three)
  })";
  const std::string expected = result_of(nested, {});
  CHECK(expected == "(Tensor[(2), int64]{0, -2}, 12i64)");
  CHECK(result_of(nested, {"fuse"}) == expected);
}

TEST_CASE("an operator that finds a size stays a call, and the operators after it are fused") {
  const std::string text = fused_text(positions, {"fuse"});
  CHECK(has(text, "= prefix(%"));
  CHECK(has(text, "call_tensor(@fused_multiply_add_negative, %"));
}

TEST_CASE("operators whose sizes are known are fused") {
  CHECK(has(fused_text(positions, {"define-sizes", "fuse"}), "call_tensor(@prefix, %"));
  // The sizes of a parameter, of define_sizes, of a value in the enclosing block, and of one around the function.
  const std::string text = fused_text(R"(def @main(%x: Tensor[(n), float32], %c: bool, %s: Tensor[(1), int64]) {
    define_sizes(%s, (m), (6));
    let %found = nonzero(%x);
    let %y = prefix(%found.0, %found.1);
    let %size = take(shape_of(%y, dtype="int64"), 0i64);
    let %counted = fn (%s: float32) { full(%s, shape=[n]) * %s };
    let %z = if (%c) { negative(arange(0i64, %size, 1i64, dtype="int64")) } else { reshape(%y, newshape=[-1]) };
    (%counted(2f), %z, exp(full(2f, shape=[m])))
  })",
                                      {"fuse"});
  CHECK(has(text, "fused_arange_negative"));
  CHECK(has(text, "fused_full_multiply"));
  CHECK_FALSE(has(text, "shape=[m]"));  // part of the exponential's function
}
