// Functions that are values: arguments, results, fields of tuples, and functions that an `if` selects, in all engines.
#include <doctest/doctest.h>

#include "engines.h"

using namespace dlcc;

TEST_CASE("each call of a function value defines the sizes of its result anew") {
  const std::string functions = R"(
    def @found(%x: Tensor[(k), float32]) -> Tensor[(?, 1), int64] {
      let %all = nonzero(%x > 0f);
      prefix(%all.0, %all.1)
    }
    def @apply(%f: fn (Tensor[(k), float32]) -> Tensor[(?, 1), int64], %x: Tensor[(k), float32]) { %f(%x) }
    def @twice(%f: fn (Tensor[(k), float32]) -> Tensor[(?, 1), int64], %x: Tensor[(k), float32]) {
      concatenate((%f(%x), %f(%x - 1f)))
    }
  )";
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(m), float32], %c: bool) {\n";
  for (const char* body : {
           "(@apply(@found, %a), @apply(@found, %b), @found(concatenate((%a, %b))))",
           "(@twice(@found, %a), @twice(@found, %b * -1f), sum(@twice(@found, %b)))",
           // a local function that captures a value, as an argument of global and local functions
           "let %f = fn (%x: Tensor[(j), float32]) { @found(%x + sum(%a)) };"
           "let %g = fn (%f: fn (Tensor[(k), float32]) -> Tensor[(?, 1), int64], %x: Tensor[(k), float32]) { %f(%x) };"
           "(%g(@found, %a), %g(@found, %b), %g(%f, %b), %g(%f, %a), @twice(%f, %b), if (%c) { %f(%a) } else { %f(%b) "
           "})",
           // without types
           "let %g = fn (%f, %x) { concatenate((%f(%x), %f(%x - 1f))) };"
           "let %f = fn (%x: Tensor[(m), float32]) { @found(%x + sum(%a)) };"
           "%g(%f, %b)",
       })
    for (unsigned seed = 0; seed < 3; ++seed)
      CHECK(difference_of_engines(seed, functions + begin + body + "}",
                                  {{dtype::f32, {2}}, {dtype::f32, {5}}, {dtype::boolean, {}}}) == "");
}

TEST_CASE("functions in tuples and functions that functions return are known where they are called") {
  const std::string functions = R"(
    def @twice(%x: Tensor[(k), float32]) -> Tensor[(2 * k), float32] { concatenate((%x, %x)) }
    def @apply(%f: fn (Tensor[(k), float32]) -> Tensor[(2 * k), float32], %x: Tensor[(k), float32]) { %f(%x) }
    def @scale(%s: float32) {
      let %f = fn (%x: Tensor[(3), float32]) { %x * %s };
      (%f, (fn (%x: Tensor[(3), float32]) { %f(%x) - %s }, %s))
    }
    def @first(%fs: (fn (Tensor[(3), float32]) -> Tensor[(3), float32], float32), %x: Tensor[(3), float32]) {
      let %f = %fs.0;
      %f(%f(%x)) + %fs.1
    }
  )";
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(3), float32]) {\n";
  for (const char* body : {
           // in tuples, also nested ones
           "let %f = fn (%x: Tensor[(j), float32]) -> Tensor[(2 * j), float32] { concatenate((%x, %x)) };"
           "let %t = (%f, (%f, @twice)); let %g = %t.0; let %u = %t.1; let %h = %u.1;"
           "(%g(%h(%a)) + %h(%g(%a)), %u.0(%b))",
           // in a tuple that a global or a local function takes or returns
           "let %p = @scale(2f); let %q = %p.1; (@first(%q, %b), @first((%p.0, 1f), %b), %q.1)",
           "let %g = fn (%s: float32) { @scale(%s + sum(%a)) };"
           "let %h = fn (%t: (fn (Tensor[(3), float32]) -> Tensor[(3), float32], float32)) { @first(%t, %b) };"
           "let %p = %g(2f); let %q = %p.1; %h(%q)",
           // local functions that take functions, at several sizes
           "let %f = fn (%x: Tensor[(j), float32]) -> Tensor[(2 * j), float32] { concatenate((%x, %x * sum(%b))) };"
           "let %g = fn (%f: fn (Tensor[(k), float32]) -> Tensor[(2 * k), float32], %x: Tensor[(k), float32]) {"
           "  @apply(%f, %x + 1f) };"
           "(%g(%f, %a), %g(%f, %b), %g(@twice, %b))",
           // a function that applies a function to the size of its argument
           "let %g = fn (%f: fn (Tensor[(k), int64]) -> Tensor[(k), int64], %x: Tensor[(k), float32]) {"
           "  %f(reshape(nonzero(%x * 0f + 1f).0, newshape=[k])) };"
           "(%g(fn (%x: Tensor[(n), int64]) { %x + %x }, %a), %g(fn (%x: Tensor[(3), int64]) { %x }, %b))",
       })
    for (unsigned seed = 0; seed < 3; ++seed)
      CHECK(difference_of_engines(seed, functions + begin + body + "}", {{dtype::f32, {2}}, {dtype::f32, {3}}}) == "");
}

TEST_CASE("a function that an if selects is selected at each call") {
  const std::string functions = R"(
    def @found(%x: Tensor[(k), float32]) -> Tensor[(?, 1), int64] {
      let %all = nonzero(%x > 0f);
      prefix(%all.0, %all.1)
    }
    def @apply(%f: fn (Tensor[(k), float32]) -> Tensor[(?, 1), int64], %x: Tensor[(k), float32]) { %f(%x) }
    def @next(%x: Tensor[(3), float32]) -> Tensor[(3), float32] { %x + 1f }
  )";
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(3), float32], %c: bool, %d: bool) {\n";
  for (const char* body : {
           "let %f = fn (%x: Tensor[(3), float32]) -> Tensor[(3), float32] { %x * sum(%a) };"
           "let %h = if (%c) { @next } else { if (%d) { %f } else { fn (%x: Tensor[(3), float32]) { %f(%x) - 1f } } };"
           "(%h(%b), %h(%h(%b)))",
           // results of different sizes
           "let %h = if (%c) { fn (%x: Tensor[(n), float32]) -> Tensor[(?, 1), int64] { @found(%x) } }"
           "  else { fn (%x: Tensor[(n), float32]) -> Tensor[(?, 1), int64] { nonzero(%x * 0f + 1f).0 } };"
           "(@apply(%h, %a), %h(%a - 1f))",
           // in tuples, with operations in the branches
           "let %t = if (%c) { (@next, %b) } else { let %y = %a + 1f; let %z = sum(%y);"
           "  (fn (%x: Tensor[(3), float32]) { %x * 2f }, %b) };"
           "let %h = %t.0; %h(%t.1)",
           // a known condition; in a loop
           "let %h = if (True) { @next } else { fn (%x: Tensor[(3), float32]) { %x } };"
           "let %g = if (%d) { %h } else { fn (%x: Tensor[(3), float32]) { %h(%x) * 2f } };"
           "let %loop = fn (%i: int64, %x: Tensor[(3), float32]) -> Tensor[(3), float32] {"
           "  if (%i < 4i64) { %loop(%i + 1i64, %g(%x)) } else { %x } };"
           "%loop(0i64, %b)",
       })
    for (unsigned seed = 0; seed < 6; ++seed)
      CHECK(difference_of_engines(seed, functions + begin + body + "}",
                                  {{dtype::f32, {2}}, {dtype::f32, {3}}, {dtype::boolean, {}}, {dtype::boolean, {}}}) ==
            "");
}

TEST_CASE("a function that uses what the selecting if computes has no native code") {
  const std::string text = R"(
    def @main(%a: Tensor[(3), float32], %c: bool) {
      let %f = if (%c) {
        let %s = sum(%a);
        fn (%x: Tensor[(3), float32]) { %x * %s }
      } else {
        fn (%x: Tensor[(3), float32]) { %x }
      };
      %f(%a)
    }
  )";
  const std::string error = difference_of_engines(0, text, {{dtype::f32, {3}}, {dtype::boolean, {}}});
  CHECK_MESSAGE(error.find("a function as a value cannot be compiled to native code") != std::string::npos, error);
}

TEST_CASE("an instance of a generic function is an argument of a generic function") {
  const std::string text = R"(
    def @id[A](%x: A) -> A { %x }
    def @twice[A](%f: fn (A) -> A, %x: A) -> A { %f(%f(%x)) }
    def @main(%a: Tensor[(n), float32]) {
      let %f: fn (Tensor[(n), float32]) -> Tensor[(n), float32] = @id;
      let %g = fn (%x: Tensor[(n), float32]) { %x * 2f };
      (@twice(%f, %a), @twice(%g, %a))
    }
  )";
  for (unsigned seed = 0; seed < 3; ++seed) CHECK(difference_of_engines(seed, text, {{dtype::f32, {2}}}) == "");
}

TEST_CASE("a generic function is an argument of a generic function, and an if selects it") {
  const std::string functions = R"(
    def @app[A, B](%f: fn (A) -> B, %x: A) { %f(%x) }
    def @both[A, B](%f: fn (A) -> B, %x: A, %y: A) { (%f(%x), %f(%y)) }
    def @swap[A, B](%p: (A, B)) -> (B, A) { (%p.1, %p.0) }
    def @square[S](%x: Tensor[S, float32]) { %x * %x }
  )";
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(3), float32], %c: bool) {\n";
  for (const char* body : {
           "(@app(@id, %a), @app(@id, (%b, %c)), @app(@square, %a), @app(@id, @square)(%b))",
           "(@compose(@id, @id)(%a), @compose(@square, @id)(%b), @iterate(@id, 3)(%a))",
           "@both(@swap, (%a, %c), (%a * 2f, True))",
           "let %f = nn.relu; let %g = if (%c) { exp } else { %f }; (@app(%f, %a), %g(%b), @app(@id, sum)(%a), (add)(%a, 1f))",
           "let %f = if (%c) { @square } else { @id }; let %t = (@id, %f); (%f(%a), %t.0(%b), @app(%t.1, %a))",
       })
    for (unsigned seed = 0; seed < 3; ++seed)
      CHECK(difference_of_engines(seed, functions + begin + body + "}",
                                  {{dtype::f32, {2}}, {dtype::f32, {3}}, {dtype::boolean, {}}}) == "");
}

TEST_CASE("recursive functions that pass functions on to themselves are loops for these functions") {
  const std::string functions = R"(
    def @iter(%f: fn (Tensor[(k), float32]) -> Tensor[(k), float32], %n: int32, %x: Tensor[(k), float32])
        -> Tensor[(k), float32] {
      if (%n == 0) { %x } else { @iter(%f, %n - 1, %f(%x)) }
    }
    def @generic[A](%n: int32, %f: fn (A) -> A, %x: A) -> A { if (%n == 0) { %x } else { @generic(%n - 1, %f, %f(%x)) } }
    def @tanh(%x: Tensor[(j), float32]) -> Tensor[(j), float32] { tanh(%x) }
    def @sum_of(%f: fn (int32) -> float32, %n: int32) -> float32 {
      if (%n == 0) { 0f } else { @sum_of(%f, %n - 1) + %f(%n) }
    }
  )";
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(3), float32], %k: int32) {\n";
  for (const char* body : {
           // of the module, at several functions and sizes
           "(@iter(@tanh, 3, %a), @iter(@tanh, 2, %b), @iter(fn (%x: Tensor[(3), float32]) { %x * sum(%a) }, 2, %b))",
           // generic, at several types
           "(@generic(3, fn (%i: int32) { %i * 2 }, 1), @generic(2, @tanh, %a), @generic(0, @tanh, %b))",
           // local; the function is a field of a tuple, one of two, and captures values
           "let %fs = (fn (%x: Tensor[(3), float32]) { %x + %b }, @tanh);"
           "let %loop = fn (%i: int32, %fs: (fn (Tensor[(3), float32]) -> Tensor[(3), float32], float32),"
           "                %x: Tensor[(3), float32]) -> Tensor[(3), float32] {"
           "  if (%i < 1) { %x * %fs.1 } else { let %f = %fs.0; %loop(%i - 1, %fs, %f(%f(%x))) }"
           "};"
           "(%loop(2, (%fs.0, 2f), %b), %loop(1, (%fs.0, sum(%a)), %b * 2f))",
           // a loop with a function within a loop with a function
           "let %outer = fn (%f: fn (float32) -> float32, %i: int32, %x: float32) -> float32 {"
           "  let %inner = fn (%g: fn (float32) -> float32, %j: int32, %y: float32) -> float32 {"
           "    if (%j < 1) { %y } else { %inner(%g, %j - 1, %g(%y)) }"
           "  };"
           "  if (%i < 1) { %x } else { %outer(%f, %i - 1, %inner(fn (%z: float32) { %f(%z) - 1f }, %i, %x)) }"
           "};"
           "%outer(fn (%x: float32) { %x * 0.5f }, 3, sum(%b))",
           // the function is selected at run time
           "let %f = if (sum(%a) > 0f) { fn (%x: float32) { %x + 1f } } else { fn (%x: float32) { %x * 2f } };"
           "@generic(3, %f, sum(%b))",
       })
    for (unsigned seed = 0; seed < 3; ++seed)
      CHECK(difference_of_engines(seed, functions + begin + body + "}",
                                  {{dtype::f32, {2}}, {dtype::f32, {3}}, {dtype::i32, {}}}) == "");
}

TEST_CASE("a function value of any size is called at several sizes") {
  const std::string functions = R"(
    def @double(%x: Tensor[(n), float32]) -> Tensor[(2 * n), float32] { concatenate((%x, %x)) }
    def @both(%f: fn (Tensor[(k), float32]) -> Tensor[(2 * k), float32], %x: Tensor[(n), float32], %y: Tensor[(m), float32]) {
      (%f(%x), %f(%y))
    }
    def @maker(%s: float32) { fn (%x: Tensor[(k), float32]) { concatenate((%x, %x * %s)) } }
    def @ap(%f, %x) { %f(%x) }
    def @two(%p, %x, %y) { (%p.0(%x), %p.0(%y), %p.1) }
  )";
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(3), float32], %c: bool) {\n"
                            "let %used = (@ap(@double, %a), @two((@double, 1f), %a, %b));\n";
  for (const char* body : {
           // typed and untyped functions of the module that take functions
           "let %f = fn (%x: Tensor[(j), float32]) { concatenate((%x, %x + sum(%b))) };"
           "(@both(@double, %a, %b), @both(%f, %b, %a), @ap(%f, %a), @ap(%f, %b), @ap(@double, %a), @ap(@double, %b))",
           // functions that functions return, in tuples, and selected
           "let %f = @maker(2f); let %g = if (%c) { %f } else { @maker(3f) };"
           "(%f(%a), %f(%b), %g(%a), %g(%b), @both(%g, %a, %b), @two((%f, 1f), %a, %b), @two((@double, %a), %b, %a))",
           // a function of certain sizes where any is expected
           "let %f = fn (%x: Tensor[(3), float32]) { concatenate((%x, %b)) }; @both(%f, %b, %b * 2f)",
       })
    for (unsigned seed = 0; seed < 3; ++seed)
      CHECK(difference_of_engines(seed, functions + begin + body + "}",
                                  {{dtype::f32, {2}}, {dtype::f32, {3}}, {dtype::boolean, {}}}) == "");
}

TEST_CASE("the fields of a tuple that is used at several types") {
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(3), float32], %k: int32) {\n";
  for (const char* body : {
           "let %square = fn (%x) { %x * %x }; let %tools = (%square, (%square, %k)); let %more = %tools.1;"
           "(%tools.0(%a), %tools.0(%k), %more.0(%b), %more.0(%more.1))",
           // in a local function, and as another name
           "let %id = fn (%x) { %x }; let %pair = (%id, %id); let %same = %pair;"
           "let %f = fn (%x: Tensor[(3), float32]) { (%same.0(%x) + %pair.1(%b), %same.1(%k)) };"
           "(%f(%b), %same.0(%a))",
           // used at one type, and not used as a whole
           "let %pair = (fn (%x) { %x + %x }, %k); if (%pair.1 < 3) { %pair.0(%a) } else { %pair.0(%a) * 2f }",
       })
    for (unsigned seed = 0; seed < 3; ++seed)
      CHECK(difference_of_engines(seed, begin + body + "}",
                                  {{dtype::f32, {2}}, {dtype::f32, {3}}, {dtype::i32, {}}}) == "");
}
