// Functions that call themselves in tail position, with several calls and several exits, in all engines.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engines.h"

using namespace dlcc;

namespace {

void check(const std::string& text, const std::vector<RandomInput>& inputs) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const std::string difference = difference_of_engines(seed, text, inputs);
    CHECK_MESSAGE(difference == "", "seed " << seed << ": " << difference);
  }
}

}  // namespace

TEST_CASE("a loop may have several exits") {
  check(R"(
    def @w(%x: int64, %n: int64) -> int64 {
      if (%x > 1000i64) { %n } else { if (%n > 5i64) { 0i64 - %n } else { @w(%x * 2i64, %n + 2i64) } }
    }
    def @main(%x: int64, %n: int64) { (@w(%x + 1i64, %n), @w(600i64, %n)) }
  )",
        {{dtype::i64, {}}, {dtype::i64, {}}});
}

TEST_CASE("a loop may have several recursive calls") {
  check(R"(
    def @collatz(%n: int64, %steps: int64) -> int64 {
      if (%n == 1i64) { %steps } else {
        if (floor_mod(%n, 2i64) == 0i64) { @collatz(floor_divide(%n, 2i64), %steps + 1i64) } else {
          @collatz(3i64 * %n + 1i64, %steps + 1i64)
        }
      }
    }
    def @main(%n: int64) { @collatz(%n + 24i64, 0i64) }
  )",
        {{dtype::i64, {}}});
}

TEST_CASE("the state of a loop with several exits has tuples and tensors of symbolic sizes") {
  check(R"(
    def @f(%i: int64, %x: Tensor[(n), float32], %p: (int32, Tensor[(2, 3), float32]))
        -> (Tensor[(n), float32], float32, int32) {
      let %s = sum(%x);
      if (%i > 20i64) { (%x, %s, %p.0) } else {
        let %y = %x * 0.5f + cast(%i, dtype="float32");
        let %q = max(%y);
        if (%q > 15f) {
          if (%s > 100f) { (%y, %q, 0 - %p.0) } else { @f(%i + 2i64, %y - %q, (%p.0 + 1, %p.1 * 2f)) }
        } else {
          if (%s < 0f) { @f(%i + 1i64, %y + 1f, %p) } else {
            let %z = tanh(%y) + sum(%p.1);
            if (min(%z) > 100f) { (%z, %q, %p.0 * 3) } else { @f(%i + 3i64, %z, (%p.0 + 10, %p.1 + 1f)) }
          }
        }
      }
    }
    def @main(%x: Tensor[(n), float32], %s: float32) {
      @f(0i64, %x * exp(%s * 2f), (1, ones(shape=[2, 3], dtype="float32")))
    }
  )",
        {{dtype::f32, {5}}, {dtype::f32, {}}});
}

TEST_CASE("the leaves of a loop use local functions, and booleans and tuples of operations between the exits") {
  check(R"(
    def @main(%x: Tensor[(n, 4), float32], %m: int64) {
      let %bias = sum(%x);
      let %loop = fn (%i: int64, %y: Tensor[(n, 4), float32]) -> Tensor[(n, 4), float32] {
        let %scale = fn (%v: Tensor[(n, 4), float32]) { %v * 0.5f + %bias };
        if (%i >= %m * 4i64) { %y } else {
          let %large = %y > 3f;
          let %parts = split(%y, indices_or_sections=2, axis=1);
          let %g = fn (%v: Tensor[(n, 4), float32]) { %v + cast(%i, dtype="float32") };
          if (%i == 7i64) { %g(%y) } else {
            if (sum(%parts.0) > 50f) { concatenate((%parts.1, %parts.0), axis=1) } else {
              if (any(%large)) { where(%large, %y, %y * 2f) } else { %loop(%i + 1i64, %g(%scale(%y))) }
            }
          }
        }
      };
      %loop(0i64, %x)
    }
  )",
        {{dtype::f32, {3, 4}}, {dtype::i64, {}}});
}

TEST_CASE("operations before an exit fail only if they are reached") {
  check(R"(
    def @f(%i: int64, %x: Tensor[(5), float32]) -> (float32, Tensor[(5), float32]) {
      if (%i > 10i64) { (0f, %x) } else {
        let %v = take(%x, %i, axis=0);
        let %u = dynamic_update_slice(%x, %v * 2f, %i);
        if (%v > 1.5f) { (%v, %u) } else { @f(%i + 1i64, %u) }
      }
    }
    def @main(%x: Tensor[(5), float32]) { @f(0i64, %x) }
  )",
        {{dtype::f32, {5}}});
}

TEST_CASE("values of sizes that an iteration finds stay where they are computed") {
  check(R"(
    def @f(%i: int64, %x: Tensor[(n), float32]) -> (int64, Tensor[(n), float32]) {
      if (%i > 10i64) { (%i, %x) } else {
        let %all = nonzero(%x > 1f);
        let %found = prefix(%all.0, %all.1);
        let %sum = sum(%found);
        if (%sum > 4i64) { (sum(%found * 2i64), %x) } else {
          if (%sum > 2i64) { @f(%i + 1i64, %x * 2f) } else { @f(%i + sum(%found * 2i64) + 2i64, %x + 0.25f) }
        }
      }
    }
    def @main(%x: Tensor[(n), float32]) { @f(0i64, %x) }
  )",
        {{dtype::f32, {6}}});
}

TEST_CASE("recursion without an exit or with a call that is not in tail position is refused with its location") {
  for (const char* body : {"if (%i > 9i64) { @f(%i - 1i64) } else { @f(%i + 1i64) }",
                           "if (%i > 9i64) { %i } else { if (%i > 5i64) { @f(%i + 1i64) } else { 0i64 - @f(%i + 1i64) } }"}) {
    const std::string error = difference_of_engines(
        0,
        fmt::format(
            "def @f(%i: int64) -> int64 {{ {} }} def @main(%i: int64) {{ if (%i > 9i64) {{ @f(%i) }} else {{ %i }} }}",
            body),
        {{dtype::i64, {}}});
    CHECK_MESSAGE(error.find("1:5: error[unsupported-construct]: recursion that is no loop") != std::string::npos,
                  error);
    CHECK(error.find("let each recursive call be the last operation of its block, and end one block without a call") !=
          std::string::npos);
  }
}
