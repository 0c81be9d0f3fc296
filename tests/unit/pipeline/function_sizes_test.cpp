// Functions whose parameters name sizes, called from functions with sizes of the same names, in all engines.
#include <doctest/doctest.h>

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
