// Functions whose parameters name sizes, called from functions with sizes of the same names, in all engines.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engines.h"

using namespace dlcc;

TEST_CASE("a kernel has the sizes that its function has at the call") {
  const std::string slice = R"(
    def @rest(%x: Tensor[(n), float32], %y: Tensor[(n + m), float32]) -> float32 {
      sum(strided_slice(%y, begin=[n], end=[n + m]))
    }
  )";
  for (const char* main :
       {"def @main(%a: Tensor[(p), float32], %b: Tensor[(q), float32]) { @rest(%a, concatenate((%a, %b))) }",
        "def @main(%a: Tensor[(m), float32], %b: Tensor[(n), float32]) { @rest(%a, concatenate((%a, %b))) }"})
    for (unsigned seed = 0; seed < 4; ++seed)
      CHECK(difference_of_engines(seed, slice + main, {{dtype::f32, {2}}, {dtype::f32, {5}}}) == "");
}

TEST_CASE("a function without types keeps its own sizes apart from those of the caller") {
  const std::string scaled = "def @scaled(%x, %y: Tensor[(n), float32]) { (%x * sum(%y), concatenate((%y, %y))) }\n";
  const std::string text = scaled + R"(
    def @main(%a: Tensor[(n), float32], %b: Tensor[(m), float32]) { (@scaled(%a, %b), @scaled(%b, %a)) }
  )";
  for (unsigned seed = 0; seed < 4; ++seed)
    CHECK(difference_of_engines(seed, text, {{dtype::f32, {2}}, {dtype::f32, {5}}}) == "");
}

TEST_CASE("sizes that are part of a type argument are those of the caller") {
  const std::string text = R"(
    def @first[A](%x: A, %y: Tensor[(n), float32]) -> A { %x }
    def @main(%a: Tensor[(n), float32], %b: Tensor[(m), float32]) { exp(@first(%a, %b)) }
  )";
  for (unsigned seed = 0; seed < 4; ++seed)
    CHECK(difference_of_engines(seed, text, {{dtype::f32, {2}}, {dtype::f32, {5}}}) == "");
}

TEST_CASE("a local function has sizes of its own at each call") {
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(m), float32]) {\n";
  const RandomInput two{dtype::f32, {2}}, five{dtype::f32, {5}};
  for (const char* body : {
           // symbols of the function around it, and of its own
           "let %f = fn (%x: Tensor[(k), float32], %y: Tensor[(n), float32]) { concatenate((%x, %a, %y)) };"
           "(%f(%b, %a), %f(%a, %a), %f(full(2f, shape=[3]), %a))",
           // in a local function, which has the size around it and one of its own
           "let %f = fn (%x: Tensor[(k), float32]) {"
           "  let %g = fn (%y: Tensor[(j), float32]) -> Tensor[(j), float32] { %y * sum(%x) + sum(%b) };"
           "  (%g(%x), %g(%a)) };"
           "(%f(%a), %f(%b))",
           // the length of a loop
           "let %f = fn (%t: int64, %x: Tensor[(k), float32]) -> Tensor[(k), float32] {"
           "  if (less(%t, take(shape_of(%x, dtype=\"int64\"), 0))) { %f(%t + 1i64, tanh(%x + 1f)) } else { %x } };"
           "(%f(0i64, %a), %f(2i64, %b))",
           // under another name
           "let %f = fn (%x: Tensor[(k), float32]) { concatenate((%x, %x)) };"
           "let %g = %f; (%g(%a), %f(%g(%b)))",
           // sizes of the result that the body defines
           "let %f = fn (%x: Tensor[(n), float32], %y: Tensor[(?), float32]) {"
           "  let %found = nonzero(%y); let %p = prefix(%found.0, %found.1); concatenate((%p, %p)) };"
           "(%f(%a, %a), %f(%a, %b), sum(%f(%a, %b * 0f)))",
           "let %f = fn (%x: Tensor[(n), float32]) {"
           "  let %found = nonzero(%x > 0f); take(%x, reshape(prefix(%found.0, %found.1), newshape=[-1])) };"
           "let %g = fn (%x: Tensor[(n), float32]) { exp(%f(%x)) };"
           "(%g(%a), sum(%g(%a * -1f)), sum(%f(%a + 1f)))",
           // a declared result; two functions, one with the result of the other
           "let %f = fn (%x: Tensor[(n), float32]) -> Tensor[(?, 1), int64] {"
           "  let %found = nonzero(%x); prefix(%found.0, %found.1) };"
           "let %g = fn (%x: Tensor[(?, 1), int64]) -> Tensor[(?, 1), float32] {"
           "  let %found = nonzero(%x); cast(take(prefix(%found.0, %found.1), 0i64, axis=1), dtype=\"float32\")"
           "  * full(2f, shape=[1, 1]) };"
           "(sum(%f(%a)), %f(%a - 1f), %g(%f(%a)), sum(%g(%f(%a * 0f))))",
           // of functions that only call each other
           "let %g = fn (%x: Tensor[(k), float32]) { %x + %x };"
           "let %h = fn (%x: Tensor[(j), float32]) { %g(%x) };"
           "%h(%a)",
           // a size that the body defines
           "let %f = fn (%x: Tensor[(k), float32]) { let %found = nonzero(%x); sum(prefix(%found.0, %found.1)) };"
           "(%f(%a), %f(%b), %f(%a * 0f))",
           // a size that may be 0
           "let %f = fn (%x: Tensor[(k), int64]) { sum(%x) };"
           "let %g = fn (%x: Tensor[(k), float32]) { let %found = nonzero(%x);"
           "  %f(reshape(prefix(%found.0, %found.1), newshape=[-1])) };"
           "(%g(%a), %g(maximum(%b, 0f)), %g(%b * 0f))",
           // a data-dependent size
           "let %f = fn (%x: Tensor[(k), float32]) { sum(%x) };"
           "let %found = nonzero(%a); (%f(%a), %f(cast(reshape(prefix(%found.0, %found.1), newshape=[-1]), "
           "dtype=\"float32\")))",
       })
    for (unsigned seed = 0; seed < 3; ++seed) CHECK(difference_of_engines(seed, begin + body + "}", {two, five}) == "");
}

TEST_CASE("a global function defines the sizes of its result anew at each call") {
  const std::string functions = R"(
    def @found(%x: Tensor[(k), float32]) -> Tensor[(?, 1), int64] {
      let %all = nonzero(%x > 0f);
      prefix(%all.0, %all.1)
    }
    def @both(%x: Tensor[(k), float32], %y: Tensor[(j), float32]) { concatenate((@found(%x), @found(%y), @found(%x))) }
    def @later(%x: Tensor[(k), float32]) {
      @found(reshape(cast(@found(%x), dtype="float32"), newshape=[-1]) - 1f)
    }
  )";
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(m), float32], %c: bool) {\n";
  for (const char* body : {
           "@found(%a)",
           // at equal and at different sizes
           "(@found(%a), @found(%a - 1f), @found(%b), sum(@found(full(1f, shape=[5]))))",
           // by way of another function, and under another name
           "let %f = @both; (%f(%a, %b), sum(@both(%b, %b)))",
           // with another size in the body
           "(@later(%a), @later(%b), @later(%b - 1f))",
           // in branches and in a local function
           "let %f = fn (%x: Tensor[(k), float32]) { let %u = @both(%x, %a); sum(%u + @both(%x, %a)) };"
           "(%f(%a), %f(%b), if (%c) { @found(%a) } else { @both(%a, %b) })",
           // in a loop
           "let %f = fn (%i: int64, %s: int64, %x: Tensor[(m), float32]) -> int64 {"
           "  if (less(%i, 4i64)) { %f(%i + 1i64, %s + sum(@found(%x)), %x - 0.5f) } else { %s } };"
           "%f(0i64, 0i64, %b)",
       })
    for (unsigned seed = 0; seed < 3; ++seed)
      CHECK(difference_of_engines(seed, functions + begin + body + "}",
                                  {{dtype::f32, {2}}, {dtype::f32, {5}}, {dtype::boolean, {}}}) == "");
}

TEST_CASE("a local function that another one calls defines the size of its result anew at each call of that one") {
  for (const char* functions :
       {"let %h = fn (%x: Tensor[(n), int32]) { sum(%f(%x)) };",
        "let %g = if (%c) { %f } else { fn (%x: Tensor[(n), int32]) { %x } };"
        "let %h = fn (%x: Tensor[(n), int32]) { sum(%g(%x)) };",
        "let %g = %f; let %h = fn (%x: Tensor[(n), int32]) { sum(%g(%x)) + sum(%f(%x)) };",
        "let %h = fn (%x: Tensor[(n), int32]) { let %k = fn (%y: Tensor[(n), int32]) { (%f(%y), 1) }; sum(%k(%x).0) };"}) {
    const std::string text = fmt::format(R"(
      def @main(%a: Tensor[(n), int32], %c: bool) {{
        let %f = fn (%x: Tensor[(k), int32]) {{ prefix(%x, nonzero(%x > 0).1) }};
        {}
        (%h(%a), %h(%a - 1), %h(%a))
      }}
    )", functions);
    CAPTURE(text);
    for (unsigned seed = 0; seed < 4; ++seed)
      CHECK(difference_of_engines(seed, text, {{dtype::i32, {5}}, {dtype::boolean, {}}}) == "");
  }
}

TEST_CASE("a global function that calls itself in tail position is a loop") {
  const std::string power = R"(
    def @power(%i: int64, %x: Tensor[(k), float32]) -> Tensor[(k), float32] {
      if (%i > 0i64) { @power(%i - 1i64, tanh(%x * %x)) } else { %x }
    }
  )";
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(m), float32], %i: int64) ";
  for (const char* body : {
           "{ (@power(3i64, %a), @power(%i, %b), @power(%i, %a)) }",
           "-> Tensor[(n), float32] { if (%i > 0i64) { @main(tanh(%a), %b, %i - 1i64) } else { @power(2i64, %a) } }",
       })
    for (unsigned seed = 0; seed < 3; ++seed)
      CHECK(difference_of_engines(seed, power + begin + body,
                                  {{dtype::f32, {2}}, {dtype::f32, {5}}, {dtype::i64, {}}}) == "");
}

TEST_CASE("a function that is a value has the sizes of the call that takes it") {
  const std::string functions = R"(
    def @apply(%f: fn (Tensor[(k), float32]) -> Tensor[(k), float32], %x: Tensor[(k), float32]) { %f(%f(%x)) }
    def @square(%x: Tensor[(n), float32]) -> Tensor[(n), float32] { %x * %x }
  )";
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(m), float32]) {\n";
  for (const char* body : {
           "(@apply(@square, %a), @apply(@square, %b))",
           "let %f = fn (%x: Tensor[(j), float32]) -> Tensor[(j), float32] { %x + sum(%a) };"
           "(%f(%a), @apply(%f, %b), @apply(%f, %a), @apply(%f, full(1f, shape=[3])))",
           "let %f = @square; let %g = %f; (@apply(%g, %b), %g(%a))",
           "let %f = (@square, 1f); let %g = %f.0; (%g(%a), %g(%b), @apply(%g, %b))",
       })
    for (unsigned seed = 0; seed < 3; ++seed)
      CHECK(difference_of_engines(seed, functions + begin + body + "}", {{dtype::f32, {2}}, {dtype::f32, {5}}}) == "");
}

TEST_CASE("a call by another name has sizes of its own") {
  const std::string text = R"(
    def @twice(%x: Tensor[(n), float32]) -> Tensor[(2 * n), float32] { concatenate((%x, %x)) }
    def @main(%a: Tensor[(n), float32], %b: Tensor[(m), float32]) {
      let %f = @twice;
      let %g = %f;
      (%f(%b), %g(%a), %g(%f(%b)))
    }
  )";
  for (unsigned seed = 0; seed < 3; ++seed)
    CHECK(difference_of_engines(seed, text, {{dtype::f32, {2}}, {dtype::f32, {5}}}) == "");
}

TEST_CASE("one kernel computes with sizes of different names") {
  const std::string text = R"(
    def @main(%a: Tensor[(n, m), float32], %b: Tensor[(q, p), float32], %c: Tensor[(m, n), float32]) {
      let %x = nn.softmax(nn.softmax(%a, axis=0));
      let %y = nn.softmax(nn.softmax(%b, axis=0));
      (%x, %y, nn.softmax(nn.softmax(%c, axis=0)), nn.matmul(%c, %a), nn.matmul(transpose(%b), %b))
    }
  )";
  for (unsigned seed = 0; seed < 4; ++seed)
    CHECK(difference_of_engines(seed, text, {{dtype::f32, {2, 5}}, {dtype::f32, {3, 7}}, {dtype::f32, {5, 2}}}) == "");
}

TEST_CASE("sizes of a result with one name are equal, and functions have unknown sizes of their own") {
  for (const char* size : {"?1", "k"})
    for (const char* least : {"0f", "1000f"})
      for (unsigned seed = 0; seed < 4; ++seed)
        CHECK(difference_of_engines(seed, fmt::format(R"(
def @f(%x: Tensor[(n), float32]) -> (Tensor[({0}), float32], Tensor[({0}), float32]) {{
  (prefix(%x, nonzero(%x > 0f).1), prefix(%x, nonzero(%x > {1}).1))
}}
def @main(%x: Tensor[(6), float32]) {{
  let %f = fn (%a: Tensor[(m), float32]) -> Tensor[({0}), float32] {{ prefix(%a, nonzero(%a > 0f).1) }};
  let %g = fn (%a: Tensor[(m), float32]) -> Tensor[({0}), float32] {{ prefix(%a, nonzero(%a > 0f).1) }};
  (%f(%x), %g(concatenate((%x, %x))), @f(%x))
}})",
                                                      size, least),
                                    {{dtype::f32, {6}}}) == "");
}

TEST_CASE("a size that a result names twice may be known where the function is called") {
  const std::string select = R"(
def @f(%c: bool, %x: Tensor[(n), int32], %y: Tensor[(m), int32]) -> (Tensor[(b), int32], Tensor[(b), int32]) {
  if (%c) { (%x, %x) } else { (%y, %y) }
}
)",
                    first = R"(
def @f(%x: Tensor[(n), int32], %k: Tensor[(1), int64]) -> (Tensor[(b), int32], Tensor[(2 * b), int32]) {
  let %y = prefix(%x, %k);
  (%y, concatenate((%y, %y)))
}
)";
  const std::string inputs = "def @main(%x: Tensor[(3), int32], %y: Tensor[(2), int32]";
  for (const std::string& text :
       {select + inputs + ") { @f(True, %x, %y) }", select + inputs + ") { (@f(False, %x, %y), @f(True, %x, %y)) }",
        select + inputs + ", %c: bool) { @f(%c, %x, %y) }", first + inputs + ") { (@f(%x, full(2i64, shape=[1])), @f(%y, full(0i64, shape=[1]))) }"})
    for (unsigned seed = 0; seed < 2; ++seed) {
      std::vector<RandomInput> data = {{dtype::i32, {3}}, {dtype::i32, {2}}};
      if (text.find("%c: bool) {") != std::string::npos) data.push_back({dtype::boolean, {}});
      CHECK_MESSAGE(difference_of_engines(seed, text, data) == "", text);
    }
}
