// Loops: recursive local functions are lowered, and the evaluated program is compared with the evaluated module.
#include <doctest/doctest.h>

#include <algorithm>

#include "lower/steps.h"
#include "lower/walk.h"
#include "lowering.h"

namespace dlcc::lower {
namespace {

// The number of iterations of the program's first loop, if it is constant.
std::optional<int64_t> trip_count(const Program& program) {
  for (const Step& s : program.body.steps)
    if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&s)) return constant_trip_count(**loop);
  return std::nullopt;
}

}  // namespace

TEST_CASE("a counted loop becomes a loop over a scalar counter") {
  Program p = lowered(R"(def @main(%x: Tensor[(4), float32]) {
    let %loop = fn (%i: int64, %y: Tensor[(4), float32]) -> (Tensor[(4), float32], int64) {
      if (less(%i, 7i64)) { %loop(%i + 1i64, tanh(%y) + %x) } else { (%y, %i) }
    };
    %loop(0i64, %x)
  })");
  CHECK(trip_count(p) == 7);
  CHECK(count_of<Read>(p) == 0);
}

TEST_CASE("a loop whose trip count is an input, and a loop without iterations") {
  const std::string text = R"(def @main(%x: Tensor[(4), float32], %n: int64) {
    let %loop = fn (%i: int64, %y: Tensor[(4), float32]) -> (Tensor[(4), float32], int64) {
      if (less(%i, %n)) { %loop(%i + 1i64, exp(%y * 0.1f)) } else { (%y, %i) }
    };
    %loop(FIRST, %x)
  })";
  for (const char* first : {"0i64", "3i64", "9i64"}) {
    std::string here = text;
    CHECK(trip_count(lowered(here.replace(here.find("FIRST"), 5, first))) == std::nullopt);
  }
}

TEST_CASE("after a loop the counter is known to have reached the limit") {
  lowered(R"(def @main(%x: Tensor[(5, 4), float32]) {
    let %loop = fn (%i: int64, %y: Tensor[(4), float32]) -> (Tensor[(4), float32], int64) {
      if (less(%i, 3i64)) { %loop(%i + 1i64, tanh(%y)) } else {
        let %inside = less(%i, 3i64);
        (%y + take(%x, minimum(%i, 4i64), axis=0), if (%inside) { 1i64 } else { 2i64 })
      }
    };
    %loop(0i64, sum(%x, axis=[0]))
  })");
}

TEST_CASE("a loop with a data-dependent condition, and operations after it") {
  lowered(R"(def @main(%x: Tensor[(4), float32]) {
    let %loop = fn (%y: Tensor[(4), float32]) -> (Tensor[(4), float32], float32) {
      let %s = sum(%y * %y);
      if (greater(%s, 40f)) { (tanh(%y) + %y, %s) } else { %loop(%y * 1.5f) }
    };
    %loop(%x)
  })");
}

TEST_CASE("carried values that are exchanged in each iteration") {
  lowered(R"(def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
    let %loop = fn (%i: int64, %a: Tensor[(4), float32], %b: Tensor[(4), float32], %c: float32, %d: float32)
        -> (Tensor[(4), float32], Tensor[(4), float32], float32, float32) {
      if (less(%i, 3i64)) { %loop(%i + 1i64, %b, %a, %d + %c, %c) } else { (%a, %b, %c, %d) }
    };
    %loop(0i64, exp(%x), %y, 1f, 2f)
  })");
}

TEST_CASE("the next value of a carried tensor replaces it where nothing reads it later") {
  // The copies of a loop over %a and %b, whose memory already has their first values.
  auto copies = [](const std::string& body) {
    return count_of<Copy>(lowered(R"(def @main(%x: Tensor[(4, 16), float32], %y: Tensor[(4, 16), float32]) {
      let %loop = fn (%t: int64, %a: Tensor[(4, 16), float32], %b: Tensor[(4, 16), float32])
          -> (Tensor[(4, 16), float32], Tensor[(4, 16), float32]) {
        if (less(%t, 3i64)) { )" + body +
                                  R"( } else { (%a, %b) }
      };
      let %r = %loop(0i64, nn.softmax(%x), nn.softmax(%y));
      (nn.softmax(%r.0), nn.softmax(%r.1))
    })"));
  };
  CHECK(copies("%loop(%t + 1i64, tanh(%a), tanh(%b))") == 0);
  CHECK(copies("let %p = tanh(%a); %loop(%t + 1i64, %p, tanh(%b) + nn.softmax(%p))") == 0);
  CHECK(copies("let %p = tanh(%a + %b); %loop(%t + 1i64, %p, %b + 1f)") == 0);
  CHECK(copies("let %p = tanh(%a); %loop(%t + 1i64, %p, %b + nn.softmax(%a))") == 1);
  CHECK(copies("%loop(%t + 1i64, nn.softmax(%a), %b)") <= 1);
  CHECK(copies("let %p = tanh(%a); %loop(%t + 1i64, %p, %p)") == 2);
  CHECK(copies("%loop(%t + 1i64, tanh(%b), tanh(%a))") >= 2);
  CHECK(copies("%loop(%t + 1i64, tanh(%a), %a)") == 3);
  CHECK(copies("let %p = tanh(%a); %loop(%t + 1i64, if (less(%t, 1i64)) { nn.softmax(%p) } else { %p }, %b)") >= 1);
}

TEST_CASE("a violated requirement ends the loop with its status") {
  lowered(R"(def @main(%x: Tensor[(5, 4), float32]) {
    let %loop = fn (%i: int64, %ys: Tensor[(5, 4), float32]) -> Tensor[(5, 4), float32] {
      if (less(%i, 9i64)) {
        %loop(%i + 1i64, dynamic_update_slice(%ys, full(2f, shape=[4], dtype="float32"), %i))
      } else { %ys }
    };
    %loop(0i64, %x)
  })");
}

TEST_CASE("unused scalars are removed") {
  Program p = lowered(R"(def @main(%x: Tensor[(4), float32], %n: int64) {
    let %loop = fn (%i: int64, %k: int64, %y: Tensor[(4), float32]) -> Tensor[(4), float32] {
      if (less(%i, 4i64)) { %loop(%i + 1i64, %k * %n, tanh(%y)) } else { %y }
    };
    %loop(0i64, 1i64, %x)
  })");
  CHECK(count_of<Read>(p) == 0);
  CHECK(count_of<Compute>(p) == 2);  // the counter and the condition
}

TEST_CASE("loops in loops: an inner loop begins with a value that the outer one still needs") {
  lowered(R"(def @main(%x: Tensor[(4), float32]) {
    let %base = exp(%x * 0.1f);
    let %outer = fn (%i: int64, %a: Tensor[(4), float32]) -> Tensor[(4), float32] {
      if (less(%i, 3i64)) {
        let %b = tanh(%a);
        let %inner = fn (%j: int64, %v: Tensor[(4), float32]) -> Tensor[(4), float32] {
          if (less(%j, %i)) { %inner(%j + 1i64, %v + %a) } else { %v }
        };
        let %p = %inner(0i64, %base);
        let %inner2 = fn (%j: int64, %v: Tensor[(4), float32]) -> Tensor[(4), float32] {
          if (less(%j, 2i64)) { %inner2(%j + 1i64, %v * %b) } else { %v }
        };
        %outer(%i + 1i64, %p + %inner2(0i64, %a))
      } else { %a }
    };
    (%outer(0i64, %x), %base)
  })");
}

TEST_CASE("loops in loops: an inner loop begins with a value that the next outer iteration needs") {
  lowered(R"(def @main(%x: Tensor[(4), float32]) {
    let %base = exp(%x * 0.1f);
    let %outer = fn (%i: int64, %a: Tensor[(4), float32]) -> Tensor[(4), float32] {
      if (less(%i, 3i64)) {
        let %inner = fn (%j: int64, %v: Tensor[(4), float32]) -> Tensor[(4), float32] {
          if (less(%j, 2i64)) { %inner(%j + 1i64, tanh(%v) + %a) } else { %v }
        };
        %outer(%i + 1i64, %inner(0i64, %base))
      } else { %a }
    };
    %outer(0i64, %x)
  })");
}

TEST_CASE("branches in loops, loops in branches, scalars defined by branches") {
  lowered(R"(def @main(%x: Tensor[(4), float32], %c: bool, %n: int64) {
    let %loop = fn (%i: int64, %k: int64, %f: float32, %y: Tensor[(4), float32])
        -> (Tensor[(4), float32], int64, float32) {
      if (less(%i, 6i64)) {
        let %odd = equal(floor_mod(%i, 2i64), 1i64);
        let %r = if (%odd) { (%k + %n, %y * %f) } else { (%k, %y) };
        let %g = if (less(%k, 7i64)) { max(%y) } else { %f };
        %loop(%i + 1i64, %r.0, %g, %r.1)
      } else { (%y, %k, %f) }
    };
    if (%c) { %loop(0i64, 1i64, 0.5f, %x) } else { (%x, 0i64, 1f) }
  })");
}

TEST_CASE("a kernel takes the scalars that it needs as parameters") {
  Program p = lowered(R"(def @main(%x: Tensor[(3, 4), float32], %len: Tensor[(3), int64]) {
    let %loop = fn (%i: int64, %y: Tensor[(3, 4), float32]) -> Tensor[(3, 4), float32] {
      if (less(%i, 5i64)) {
        let %active = reshape(less(%i, %len), newshape=[3, 1]);
        %loop(%i + 1i64, where(%active, %y * 2f, %y))
      } else { %y }
    };
    %loop(0i64, %x)
  })");
  CHECK(std::ranges::any_of(p.kernels, [](const KernelVariants& k) { return k.variants[0].scalars.size() == 1; }));
}

TEST_CASE("local functions that do not recurse are lowered at each call") {
  lowered(R"(def @main(%x: Tensor[(4), float32]) {
    let %k = exp(%x);
    let %f = fn (%y: Tensor[(4), float32]) -> Tensor[(4), float32] { %y * %k + %x };
    (%f(%x), %f(%f(%k)))
  })");
}

TEST_CASE("a counter that overflows wraps as in the module") {
  lowered(R"(def @main(%n: int64) {
    let %l = fn (%t: int64, %k: int64) -> (bool, int64) {
      if (less(%k, %n)) { %l(%t + 1i64, %k + 1i64) } else { (less(%t, 0i64), %t) }
    };
    %l(9223372036854775805i64, 0i64)
  })");
}

TEST_CASE("MACs that exceed int64 saturate") {
  Program p = lowered(R"(def @main(%x: Tensor[(4, 4), float32], %n: int64) {
    let %l = fn (%t: int64, %y: Tensor[(4, 4), float32]) -> Tensor[(4, 4), float32] {
      if (less(%t, %n)) { %l(%t + 1i64, nn.matmul(%y, %x)) } else { %y }
    };
    %l(0i64, %x)
  })");
  for (const Step& s : p.body.steps)
    if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&s)) {
      (*loop)->condition = tensor::Expr((*loop)->carried[0].var) < tensor::Expr(INT64_MAX);
      (*loop)->carried[0].initial = tensor::Expr(0);
      CHECK(total_macs(p) == INT64_MAX);
      (*loop)->carried[0].initial = tensor::Expr(int64_t{-5});
      CHECK(constant_trip_count(**loop) == std::nullopt);
    }
}

TEST_CASE("a concatenation that a loop begins with keeps its operands: the loop overwrites its result") {
  const std::string loop = R"(
    let %loop = fn (%t: int64, %h: Tensor[(4, 16), float32]) -> Tensor[(4, 16), float32] {
      if (less(%t, 3i64)) { %loop(%t + 1i64, nn.softmax(%h + 1f)) } else { %h }
    };)";
  lowered(R"(def @main(%p: Tensor[(2, 16), float32], %q: Tensor[(2, 16), float32]) {
    let %a = nn.softmax(%p);
    let %x = concatenate((%a, nn.softmax(%q)), axis=0);)" +
          loop + "(nn.softmax(%loop(0i64, %x)), nn.softmax(%a)) }");
  const std::string slices = R"(
    let %a = strided_slice(%y, begin=[0, 0], end=[2, 16]);
    let %x = concatenate((%a, strided_slice(%y, begin=[2, 0], end=[4, 16])), axis=0);)";
  lowered("def @main(%y: Tensor[(4, 16), float32]) {" + slices + loop + "nn.softmax(%loop(0i64, %x)) }");
  lowered("def @main(%p: Tensor[(4, 16), float32]) { let %y = nn.softmax(%p);" + slices + loop +
          "(nn.softmax(%loop(0i64, %x)), nn.softmax(%y)) }");
}

TEST_CASE("a result of a branch that a loop writes slice by slice is no part of a concatenation") {
  lowered(R"(def @main(%c: bool, %p: Tensor[(4, 16), float32], %q: Tensor[(4, 16), float32]) {
    let %a = if (%c) {
      let %loop = fn (%t: int64, %ys: Tensor[(4, 16), float32]) -> Tensor[(4, 16), float32] {
        if (less(%t, 4i64)) {
          %loop(%t + 1i64, dynamic_update_slice(%ys, nn.softmax(take(%p, %t, axis=0)), %t))
        } else { %ys }
      };
      %loop(0i64, full(0f, shape=[4, 16], dtype="float32"))
    } else { nn.softmax(%q) };
    nn.softmax(concatenate((%a, nn.softmax(%q)), axis=0))
  })");
}

TEST_CASE("recursion that is not a loop is refused with its location") {
  Diagnostics d;
  auto module = frontends::import_relay(R"(def @main(%x: Tensor[(4), float32]) {
    let %f = fn (%i: int64, %y: Tensor[(4), float32]) -> Tensor[(4), float32] {
      if (less(%i, 3i64)) { exp(%f(%i + 1i64, %y)) } else { %y }
    };
    %f(0i64, %x)
  })",
                                        {}, d);
  REQUIRE(module);
  CHECK(!lower(after_passes(*module, {"fuse"}), machines, {}, d));
  CHECK(d.str().find("recursion that is no loop") != std::string::npos);
}

}  // namespace dlcc::lower
