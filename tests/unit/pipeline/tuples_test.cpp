// Tuples that variadic operators read and that are made elsewhere, in all engines.
#include <doctest/doctest.h>

#include "engines.h"

using namespace dlcc;

TEST_CASE("a match takes tuples apart") {
  const std::string begin = "def @main(%a: Tensor[(n), float32], %b: Tensor[(4), float32], %c: bool) {\n";
  for (const char* body : {
           "match ((%a, %b)) { (%x, %y) => (%y, sum(%x)) }",
           "match (((%a, %b), (%c, %b * 2f))) { ((%x, _), (%d, %y)) => if (%d) { sum(%x) } else { sum(%y) } }",
           "match (if (%c) { (%b, 1f) } else { (%b * 3f, 2f) }) { %p => match (%p) { (%x, %y) => %x * %y } }",
           "let %f = fn (%t: (Tensor[(4), float32], float32)) { match (%t) { (%x, %y) => %x * %y } };"
           "%f((%b, 2f)) + %f((%f((%b, 3f)), sum(%a)))",
           // a loop that ends in a match
           "let %loop = fn (%i: int32, %t: (float32, float32)) -> float32 {"
           "  match (%t) { (%x, %y) => if (%i == 0) { %x } else { %loop(%i - 1, (%y, %x + %y)) } }"
           "};"
           "%loop(9, (1f, max(%b)))",
       })
    for (unsigned seed = 0; seed < 3; ++seed) {
      const std::string difference = difference_of_engines(
          seed, begin + body + "}", {{dtype::f32, {3}}, {dtype::f32, {4}}, {dtype::boolean, {}}});
      CHECK_MESSAGE(difference == "", difference);
    }
}

TEST_CASE("a variadic operator reads a tuple that its block does not make") {
  const std::string begin = R"(
    def @join(%s: (Tensor[(k), float32], Tensor[(j), float32])) { concatenate(%s) }
    def @pair(%x: Tensor[(k), float32]) { (%x, %x + 1f) }
    def @main(%a: Tensor[(n), float32], %b: Tensor[(4), float32], %c: bool) {
  )";
  for (const char* body : {
           "let %s = (%a, %b); (if (%c) { concatenate(%s) } else { concatenate((%b, %a)) }, @join(%s))",
           "let %s = split(%b, indices_or_sections=2); (stack(%s), concatenate(%s))",
           "concatenate(if (%c) { (%a, %b) } else { (%a + 1f, %b) })",
           "(concatenate(@pair(%a)), stack(@pair(%b), axis=1))",
           // a loop whose parameter is a tuple
           "let %loop = fn (%i: int32, %t: (Tensor[(2), float32], Tensor[(2), float32])) -> Tensor[(4), float32] {"
           "  if (%i == 0) { concatenate(%t) } else { %loop(%i - 1, (%t.1, %t.0)) }"
           "};"
           "let %s = split(%b, indices_or_sections=2); %loop(3, (%s.0, %s.1))",
           // a local function that captures a tuple; tuples in tuples
           "let %s = (%b, %b * 2f); let %f = fn (%x: float32) { sum(concatenate(%s)) * %x };"
           "let %t = ((%a, %b), %s); let %u = %t.0; (%f(2f), concatenate(%u), stack(%t.1))",
       })
    for (unsigned seed = 0; seed < 3; ++seed)
      CHECK(difference_of_engines(seed, begin + body + "}",
                                  {{dtype::f32, {3}}, {dtype::f32, {4}}, {dtype::boolean, {}}}) == "");
}
