// The counter-based generator: its numbers equal those of an independent program, and have their distributions.
#include "operators.h"

using namespace dlcc;
using namespace dlcc::relay;

TEST_CASE("random.philox_uniform has the words of Philox 4x32-10") {
  // The first word for counter 0 and key 0 is 0x6627E8D5 (the authors' known-answer test).
  check_values(apply("random.philox_uniform", {{"shape", list({4})}, {"dtype", "float32"}}, {}), {4},
               {0.3990464210510254, 0.9722411632537842, 0.01944941282272339, 0.7873677611351013});
  CHECK(apply("random.philox_uniform", {{"shape", list({})}, {"dtype", "float32"}}, {}).number_at(0) ==
        0x6627E8 * 0x1p-24);
  check_values(
      apply("random.philox_uniform",
            {{"shape", list({1, 2})}, {"dtype", "float32"}, {"seed", int64_t{0x123456789}}, {"stream", 3}}, {}),
      {1, 2}, {0.4125227928161621, 0.5970209836959839});
  check_values(apply("random.philox_uniform", {{"shape", list({2})}, {"dtype", "float64"}, {"seed", 7}}, {}), {2},
               {0.9545971285563127, 0.4069604038840833});
  check_values(apply("random.philox_normal", {{"shape", list({4})}, {"dtype", "float64"}, {"seed", 7}}, {}), {4},
               {1.9990711648998924, -1.5652484631735595, 0.6531600804781061, -1.5083258042142385});
}

TEST_CASE("random numbers have their distributions") {
  constexpr int64_t count = 20000;
  for (DType type : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64})
    for (auto [name, mean, variance] :
         {std::tuple("random.philox_uniform", 0.5, 1.0 / 12), {"random.philox_normal", 0.0, 1.0}}) {
      Constant x = apply(name, {{"shape", list({count})}, {"dtype", std::string(dlcc::name(type))}, {"seed", 5}}, {});
      CHECK(x.dtype() == type);
      double sum = 0, squares = 0, cubes = 0;
      for (int64_t k = 0; k < count; ++k) {
        const double d = x.number_at(k) - mean;
        sum += d, squares += d * d, cubes += d * d * d;
      }
      CHECK(std::abs(sum / count) < 0.03);
      CHECK(squares / count == doctest::Approx(variance).epsilon(0.03));
      CHECK(std::abs(cubes / count) < 0.1);
    }
}

TEST_CASE("the type relations of random operators") {
  CHECK(type_of("random.philox_normal", {{"dtype", "float16"}}, {i64({2})}) == "Tensor[(?, ?), float16]");
  CHECK(error_of("random.philox_uniform", {{"shape", list({2})}, {"dtype", "int32"}}, {}) ==
        "unsupported-type: dtype must be float16, bfloat16, float32 or float64, found int32");
}
