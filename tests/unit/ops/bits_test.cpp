// Operators on bits, kinds of floats, remainders of floats, trigonometric functions.
#include "operators.h"

using namespace dlcc;
using namespace dlcc::relay;

TEST_CASE("trigonometric and hyperbolic functions in every float type") {
  struct Function {
    const char* name;
    double (*exact)(double);
  };
  const Function functions[] = {
      {"sin", std::sin},     {"cos", std::cos},     {"tan", std::tan},    {"asin", std::asin},   {"acos", std::acos},
      {"atan", std::atan},   {"sinh", std::sinh},   {"cosh", std::cosh},  {"asinh", std::asinh}, {"acosh", std::acosh},
      {"atanh", std::atanh}, {"expm1", std::expm1}, {"log1p", std::log1p}};
  for (const Function& f : functions)
    for (auto [type, tolerance] : {std::pair(dtype::f16, 1e-3), {dtype::bf16, 8e-3}, {dtype::f32, 5e-7}}) {
      Constant x = tensor_of(type, {7}, {-1, -0.5, 0, 0.25, 1, 2, NaN}), y = apply(f.name, {}, {x});
      CHECK(y.dtype() == type);
      for (int k = 0; k < 7; ++k) {
        const double want = f.exact(x.number_at(k)), found = y.number_at(k);
        const bool same = found == want || (std::isnan(found) && std::isnan(want)) ||
                          std::abs(found - want) <= tolerance * std::abs(want);
        CHECK_MESSAGE(same, f.name << " of " << x.number_at(k) << ": " << found << ", expected " << want);
      }
    }
}

TEST_CASE("large arguments of sine and tangent are reduced exactly") {
  Constant x = tensor_of(dtype::f64, {3}, {1e22, 0x1.6ac5b262ca1ffp849, -1e300});
  Constant sine = apply("sin", {}, {x}), tangent = apply("tan", {}, {x});
  CHECK(sine.number_at(0) == doctest::Approx(-0.8522008497671888).epsilon(1e-15));
  CHECK(sine.number_at(1) == doctest::Approx(1).epsilon(1e-15));
  CHECK(tangent.number_at(1) == doctest::Approx(-2.1366323021127436e18).epsilon(1e-2));
  CHECK(sine.number_at(2) == doctest::Approx(std::sin(-1e300)).epsilon(1e-15));
}

TEST_CASE("remainders of floats are exact") {
  Constant a = floats({8}, {-4.3f, 7.2f, 5, 0x1p127f, -6, 0, infinity, 1});
  Constant b = floats({8}, {2.1f, -3.4f, infinity, 0x1.8p-149f, 3, -2, 2, 0});
  Values truncated, floored;
  for (int k = 0; k < 8; ++k) {
    const double x = a.number_at(k), y = b.number_at(k), rest = std::fmod(x, y);
    truncated.push_back(rest);
    floored.push_back(rest != 0 && (rest < 0) != (y < 0) ? static_cast<float>(rest + y) : rest);
  }
  check_values(apply("mod", {}, {a, b}), {8}, truncated);
  check_values(apply("floor_mod", {}, {a, b}), {8}, floored);
  CHECK(std::signbit(apply("mod", {}, {a, b}).number_at(4)));
  CHECK(!std::signbit(apply("floor_mod", {}, {a, b}).number_at(4)));
  CHECK(std::signbit(apply("floor_mod", {}, {a, b}).number_at(5)));
  check_values(apply("floor_mod", {}, {floats({2}, {5, -5}), floats({2}, {infinity, infinity})}), {2}, {5, infinity});

  Constant large = tensor_of(dtype::f64, {2}, {1.7e308, 5}), small = tensor_of(dtype::f64, {2}, {4.9e-324 * 3, 0.1});
  check_values(apply("mod", {}, {large, small}), {2}, {std::fmod(1.7e308, 4.9e-324 * 3), std::fmod(5, 0.1)});
  check_values(apply("mod", {}, {tensor_of(dtype::f16, {1}, {7.5}), tensor_of(dtype::f16, {1}, {2})}), {1}, {1.5});
}

TEST_CASE("shifts and bitwise operators") {
  Constant a = tensor_of(dtype::u8, {4}, {1, 255, 12, 7}), b = tensor_of(dtype::u8, {4}, {3, 1, 8, 0});
  check_values(apply("left_shift", {}, {a, b}), {4}, {8, 254, 0, 7});
  check_values(apply("right_shift", {}, {a, b}), {4}, {0, 127, 0, 7});
  Constant c = tensor_of(dtype::i32, {2}, {-5, 6}), d = tensor_of(dtype::i32, {}, {1});
  check_values(apply("right_shift", {}, {c, d}), {2}, {-3, 3});
  check_values(apply("bitwise_and", {}, {a, b}), {4}, {1, 1, 8, 0});
  check_values(apply("bitwise_or", {}, {a, b}), {4}, {3, 255, 12, 7});
  check_values(apply("bitwise_xor", {}, {a, b}), {4}, {2, 254, 4, 7});
  check_values(apply("bitwise_not", {}, {a}), {4}, {254, 0, 243, 248});
  check_values(apply("bitwise_not", {}, {c}), {2}, {4, -7});
  CHECK(error_of("bitwise_and", {}, {f32({2}), f32({2})}) ==
        "unsupported-type: lhs must be an integer of 8 to 64 bits, found float32");
}

TEST_CASE("isnan, isinf, isfinite and trunc") {
  for (DType type : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64}) {
    Constant x = tensor_of(type, {4}, {1, -infinity, infinity, NaN});
    check_values(apply("isnan", {}, {x}), {4}, {0, 0, 0, 1});
    check_values(apply("isinf", {}, {x}), {4}, {0, 1, 1, 0});
    check_values(apply("isfinite", {}, {x}), {4}, {1, 0, 0, 0});
  }
  check_values(apply("trunc", {}, {floats({4}, {-1.5, 0.9, 2, NaN})}), {4}, {-1, 0, 2, NaN});
}

TEST_CASE("reinterpret keeps the bits of the elements") {
  auto bits_as = [](const char* type, const Constant& x) { return apply("reinterpret", {{"dtype", type}}, {x}); };
  Constant x = floats({2}, {1, -0.0});
  check_values(bits_as("int32", x), {2}, {0x3F800000, INT32_MIN});
  check_values(bits_as("float32", bits_as("uint32", x)), {2}, {1, 0});
  check_values(bits_as("uint16", tensor_of(dtype::f16, {1}, {1})), {1}, {0x3C00});
  check_values(bits_as("float16", tensor_of(dtype::u16, {1}, {0x3C00})), {1}, {1});
  check_values(bits_as("bfloat16", tensor_of(dtype::i16, {1}, {0x3F80})), {1}, {1});
  check_values(bits_as("int64", tensor_of(dtype::f64, {1}, {1})), {1}, {4607182418800017408});
  const Constant one = apply("cast", {{"dtype", "float8_e5m2"}}, {floats({3}, {1, -2, infinity})});
  check_values(bits_as("uint8", one), {3}, {0x3C, 0xC0, 0x7B});
  check_values(bits_as("uint8", bits_as("float8_e5m2", tensor_of(dtype::u8, {2}, {0x7C, 0xFC}))), {2}, {0x7C, 0xFC});
  check_values(apply("cast", {{"dtype", "float32"}}, {bits_as("float8_e5m2", tensor_of(dtype::u8, {2}, {0x3C, 0x7C}))}),
               {2}, {1, infinity});
  check_values(bits_as("bool", tensor_of(dtype::u8, {2}, {0, 1})), {2}, {0, 1});
  check_values(bits_as("int8", tensor_of(dtype::boolean, {2}, {0, 1})), {2}, {0, 1});
  CHECK(error_of("reinterpret", {{"dtype", "int16"}}, {f32({2})}) ==
        "type-mismatch: elements of float32 have 32 bits, those of int16 have 16");
}
