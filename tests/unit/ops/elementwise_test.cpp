// Elementwise operators: values of several types, NaN and overflow, broadcasting, and their type relations.
#include "operators.h"

using namespace dlcc;
using namespace dlcc::relay;
using tensor::Status;

TEST_CASE("unary operators: special values of each") {
  Constant x = floats({5}, {-1.5, -0.0, 0.5, 2.5, NaN});
  check_values(apply("abs", {}, {x}), {5}, {1.5, 0, 0.5, 2.5, NaN});
  check_values(apply("negative", {}, {x}), {5}, {1.5, 0, -0.5, -2.5, NaN});
  check_values(apply("sign", {}, {x}), {5}, {-1, 0, 1, 1, NaN});
  check_values(apply("floor", {}, {x}), {5}, {-2, 0, 0, 2, NaN});
  check_values(apply("ceil", {}, {x}), {5}, {-1, 0, 1, 3, NaN});
  check_values(apply("round", {}, {x}), {5}, {-2, 0, 0, 2, NaN});
  check_values(apply("nn.relu", {}, {x}), {5}, {0, 0, 0.5, 2.5, NaN});
  check_values(apply("copy", {}, {x}), {5}, {-1.5, 0, 0.5, 2.5, NaN});
  check_values(apply("nn.leaky_relu", {{"alpha", 0.5}}, {x}), {5}, {-0.75, 0, 0.5, 2.5, NaN});
  check_values(apply("sqrt", {}, {floats({2}, {4, -1})}), {2}, {2, NaN});
  check_values(apply("rsqrt", {}, {floats({2}, {4, 0})}), {2}, {0.5, infinity});
}

TEST_CASE("transcendental functions in every float type") {
  for (DType type : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64}) {
    Constant x = tensor_of(type, {3}, {0, 1, -infinity});
    for (auto [name, values] :
         std::vector<std::pair<std::string, Values>>{{"exp", {1, std::exp(1.0), 0}},
                                                     {"tanh", {0, std::tanh(1.0), -1}},
                                                     {"sigmoid", {0.5, 1 / (1 + std::exp(-1.0)), 0}},
                                                     {"erf", {0, std::erf(1.0), -1}}}) {
      Constant y = apply(name, {}, {x});
      CHECK(y.dtype() == type);
      for (int k = 0; k < 3; ++k) CHECK(y.number_at(k) == doctest::Approx(values[k]).epsilon(0.004));
    }
  }
  check_values(apply("log", {}, {floats({3}, {1, 0, -1})}), {3}, {0, -infinity, NaN});
}

TEST_CASE("negative and abs of integers wrap; abs of unsigned integers is the identity") {
  check_values(apply("abs", {}, {tensor_of(dtype::i8, {2}, {-128, -5})}), {2}, {-128, 5});
  check_values(apply("abs", {}, {tensor_of(dtype::u8, {1}, {200})}), {1}, {200});
  check_values(apply("add", {}, {tensor_of(dtype::u8, {1}, {200}), tensor_of(dtype::u8, {1}, {100})}), {1}, {44});
  check_values(apply("erf", {}, {tensor_of(dtype::i32, {4}, {0, 5, 6, -7})}), {4}, {0, 0, 1, -1});
  check_values(apply("log", {}, {tensor_of(dtype::i32, {4}, {1, 2, 8, 10000})}), {4}, {0, 0, 2, 9});
  check_values(apply("exp", {}, {tensor_of(dtype::u8, {4}, {0, 1, 2, 5})}), {4}, {1, 2, 7, 148});
  const int64_t odd = (int64_t{1} << 53) + 1;  // no float64 is equal
  CHECK(apply("floor", {}, {Constant::of<int64_t>(dtype::i64, {}, {odd})}).integer_at(0) == odd);
  check_values(apply("sign", {}, {tensor_of(dtype::i16, {3}, {-9, 0, 9})}), {3}, {-1, 0, 1});
  check_values(apply("sign", {}, {tensor_of(dtype::u16, {2}, {0, 9})}), {2}, {0, 1});
}

TEST_CASE("clip limits elements, with bounds clamped to the range of the type") {
  check_values(apply("clip", {{"a_min", -1.0}, {"a_max", 1.0}}, {floats({4}, {-3, 0.5, 7, NaN})}), {4},
               {-1, 0.5, 1, NaN});
  check_values(apply("clip", {{"a_min", 0.5}, {"a_max", 2.5}}, {tensor_of(dtype::i8, {3}, {0, 2, 9})}), {3}, {1, 2, 2});
  check_values(apply("clip", {{"a_min", -infinity}, {"a_max", 1e30}}, {tensor_of(dtype::u8, {2}, {0, 255})}), {2},
               {0, 255});
  check_values(apply("clip", {{"a_min", 2.0}, {"a_max", 1.0}}, {floats({1}, {5})}), {1}, {1});
  CHECK(error_of("clip", {{"a_min", 2.0}}, {f32({1})}) == "bad-attribute: attribute 'a_max' is missing");
}

TEST_CASE("arithmetic broadcasts as numpy does") {
  Constant a = floats({2, 1}, {10, 20}), b = floats({3}, {1, 2, 4});
  check_values(apply("add", {}, {a, b}), {2, 3}, {11, 12, 14, 21, 22, 24});
  check_values(apply("subtract", {}, {b, a}), {2, 3}, {-9, -8, -6, -19, -18, -16});
  check_values(apply("multiply", {}, {a, floats({}, {2})}), {2, 1}, {20, 40});
  check_values(apply("divide", {}, {a, b}), {2, 3}, {10, 5, 2.5, 20, 10, 5});
  check_values(apply("add", {}, {floats({0, 3}, {}), b}), {0, 3}, {});
}

TEST_CASE("divisions and remainders of integers of both signs, and by zero") {
  Constant a = tensor_of(dtype::i32, {4}, {7, -7, 7, -7}), b = tensor_of(dtype::i32, {4}, {2, 2, -2, -2});
  check_values(apply("divide", {}, {a, b}), {4}, {3, -3, -3, 3});
  check_values(apply("floor_divide", {}, {a, b}), {4}, {3, -4, -4, 3});
  check_values(apply("mod", {}, {a, b}), {4}, {1, -1, 1, -1});
  check_values(apply("floor_mod", {}, {a, b}), {4}, {1, 1, -1, -1});
  Constant zero = tensor_of(dtype::i32, {}, {0});
  for (const char* name : {"divide", "floor_divide", "mod", "floor_mod"})
    CHECK(status_of(name, {}, {a, zero}) == Status::division_by_zero);
  check_values(apply("divide", {}, {floats({2}, {1, 0}), floats({}, {0})}), {2}, {infinity, NaN});
}

TEST_CASE("power of floats and integers") {
  check_values(apply("power", {}, {floats({3}, {2, 4, -8}), floats({3}, {3, 0.5, 2})}), {3}, {8, 2, 64});
  Constant base = tensor_of(dtype::i64, {8}, {3, -2, 0, 2, 1, -1, -1, 5});
  Constant exponent = tensor_of(dtype::i64, {8}, {30, 3, 0, 64, -3, -3, -4, -1});
  Constant y = apply("power", {}, {base, exponent});
  std::vector<int64_t> expected = {205891132094649, -8, 1, 0, 1, -1, 1, 0};
  for (int k = 0; k < 8; ++k) CHECK(y.integer_at(k) == expected[k]);
  check_values(apply("power", {}, {tensor_of(dtype::u8, {2}, {3, 2}), tensor_of(dtype::u8, {2}, {5, 8})}), {2},
               {243, 0});
}

TEST_CASE("minimum and maximum propagate NaN") {
  Constant a = floats({4}, {1, NaN, 3, -infinity}), b = floats({4}, {2, 2, NaN, 0});
  check_values(apply("maximum", {}, {a, b}), {4}, {2, NaN, NaN, 0});
  check_values(apply("minimum", {}, {a, b}), {4}, {1, NaN, NaN, -infinity});
  Constant big = Constant::of<uint64_t>(dtype::u64, {1}, {uint64_t{1} << 63}), one = tensor_of(dtype::u64, {1}, {1});
  CHECK(apply("maximum", {}, {big, one}).integer_at(0) == big.integer_at(0));
}

TEST_CASE("comparisons and logical operators") {
  Constant a = floats({3}, {1, 2, NaN}), b = floats({3}, {2, 2, NaN});
  check_values(apply("equal", {}, {a, b}), {3}, {0, 1, 0});
  check_values(apply("not_equal", {}, {a, b}), {3}, {1, 0, 1});
  check_values(apply("less", {}, {a, b}), {3}, {1, 0, 0});
  check_values(apply("less_equal", {}, {a, b}), {3}, {1, 1, 0});
  check_values(apply("greater", {}, {a, b}), {3}, {0, 0, 0});
  check_values(apply("greater_equal", {}, {a, b}), {3}, {0, 1, 0});
  Constant p = tensor_of(dtype::boolean, {2, 1}, {0, 1}), q = tensor_of(dtype::boolean, {2}, {0, 1});
  check_values(apply("logical_and", {}, {p, q}), {2, 2}, {0, 0, 0, 1});
  check_values(apply("logical_or", {}, {p, q}), {2, 2}, {0, 1, 1, 1});
  check_values(apply("logical_xor", {}, {p, q}), {2, 2}, {0, 1, 1, 0});
  check_values(apply("logical_not", {}, {q}), {2}, {1, 0});
  check_values(apply("equal", {}, {p, p}), {2, 1}, {1, 1});
}

TEST_CASE("where broadcasts the condition and both operands") {
  Constant c = tensor_of(dtype::boolean, {2, 1}, {1, 0});
  check_values(apply("where", {}, {c, floats({3}, {1, 2, 3}), floats({}, {-1})}), {2, 3}, {1, 2, 3, -1, -1, -1});
  Constant half = tensor_of(dtype::f16, {1}, {0.5}), other = tensor_of(dtype::f16, {1}, {2});
  CHECK(apply("where", {}, {c, half, other}).dtype() == dtype::f16);
}

TEST_CASE("casts to float8_e8m0fnu round to powers of two") {
  auto rounded = [](const char* mode, bool saturate, const std::vector<double>& numbers) {
    const auto count = static_cast<int64_t>(numbers.size());
    return apply("cast", {{"dtype", "float8_e8m0fnu"}, {"round_mode", mode}, {"saturate", saturate}},
                 {tensor_of(dtype::f32, {count}, numbers)});
  };
  const std::vector<double> numbers = {0, 0x1p-127, 0x1.8p-127, 0x1p-126, 1, 1.25, 1.5, -1.75, 0x1p127, 0x1.9p127};
  const double least = 0x1p-127, most = 0x1p127;
  check_values(rounded("up", true, numbers), {10}, {least, least, 0x1p-126, 0x1p-126, 1, 2, 2, 2, most, most});
  check_values(rounded("down", true, numbers), {10}, {least, least, least, 0x1p-126, 1, 1, 1, 1, most, most});
  check_values(rounded("nearest", true, numbers), {10}, {least, least, 0x1p-126, 0x1p-126, 1, 1, 2, 2, most, most});
  check_values(rounded("up", false, {0x1.9p127, infinity, NaN}), {3}, {NaN, NaN, NaN});
  check_values(rounded("nearest", false, {0x1.4p127, 0x1.9p127}), {2}, {most, NaN});
  CHECK(error_of("cast", {{"dtype", "float8_e8m0fnu"}, {"round_mode", "odd"}}, {f32({1})})
            .starts_with("bad-attribute: round_mode must be"));
}

TEST_CASE("casts between types truncate, saturate and round") {
  Constant x = floats({5}, {-1.7, 300, NaN, 0.5, -infinity});
  check_values(apply("cast", {{"dtype", "int8"}}, {x}), {5}, {-1, 127, 0, 0, -128});
  check_values(apply("cast", {{"dtype", "uint8"}}, {x}), {5}, {0, 255, 0, 0, 0});
  check_values(apply("cast", {{"dtype", "bool"}}, {x}), {5}, {1, 1, 1, 1, 1});
  check_values(apply("cast", {{"dtype", "int8"}}, {tensor_of(dtype::i32, {2}, {200, -200})}), {2}, {-56, 56});
  check_values(apply("cast", {{"dtype", "float16"}}, {floats({2}, {65520, 0.1})}), {2}, {infinity, 0.0999755859375});
  check_values(apply("cast", {{"dtype", "float8_e4m3fn"}}, {floats({2}, {1000, 1.1})}), {2}, {448, 1.125});
  check_values(apply("cast", {{"dtype", "float8_e4m3fn"}, {"saturate", false}}, {floats({1}, {1000})}), {1}, {NaN});
  Constant narrow = apply("cast", {{"dtype", "int4"}}, {floats({3}, {-9, 3, 7.9})});
  check_values(narrow, {3}, {-8, 3, 7});
  check_values(apply("cast", {{"dtype", "float32"}}, {narrow}), {3}, {-8, 3, 7});
  check_values(apply("cast", {{"dtype", "uint2"}}, {floats({5}, {-9, 3, 7.9, 1, 2})}), {5}, {0, 3, 3, 1, 2});
  check_values(apply("cast", {{"dtype", "int2"}}, {tensor_of(dtype::i32, {5}, {-3, -2, 1, 2, 7})}), {5},
               {1, -2, 1, -2, -1});
  const Constant halves = floats({8}, {0.25, 0.26, 0.75, 2.5, 3.5, -5.1, 1000, -infinity});
  check_values(apply("cast", {{"dtype", "float4_e2m1fn"}}, {halves}), {8}, {0, 0.5, 1, 2, 4, -6, 6, -6});
  CHECK(std::signbit(apply("cast", {{"dtype", "float4_e2m1fn"}}, {floats({1}, {NaN})}).number_at(0)));
  CHECK(error_of("cast", {{"dtype", "complex64"}}, {f32({1})})
            .starts_with("bad-attribute: attribute 'dtype' must be dtype"));
}

TEST_CASE("type relations of elementwise operators") {
  Dim n = Dim::symbol({"n"}), m = Dim::symbol({"m"});
  CHECK(type_of("add", {}, {f32({n, 1}), f32({3})}) == "Tensor[(n, 3), float32]");
  CHECK(type_of("less", {}, {f32({n}), f32({n})}) == "Tensor[(n), bool]");
  CHECK(type_of("add", {}, {f32({n}), f32({m})}) == "Tensor[(min(m, 1) * min(n, 1) * max(m, n)), float32]");
  CHECK(error_of("add", {}, {f32({2}), f32({3})}) ==
        "shape-mismatch: shapes (2) and (3) cannot be broadcast: sizes 2 and 3 differ and neither is 1");
  CHECK(error_of("add", {}, {f32({2}), i64({2})}) ==
        "type-mismatch: lhs and rhs must have one element type, found float32 and int64");
  CHECK(error_of("nn.softmax", {}, {i64({2})}) ==
        "unsupported-type: data must be float16, bfloat16, float32 or float64, found int64");
  CHECK(error_of("logical_and", {}, {f32({2}), f32({2})}) == "unsupported-type: lhs must be bool, found float32");
  CHECK(error_of("where", {}, {f32({2}), f32({2}), f32({2})}) ==
        "unsupported-type: condition must be bool, found float32");
  CHECK(error_of("add", {{"axis", 1}}, {f32({2}), f32({2})}) == "bad-attribute: there is no attribute 'axis'");
  int64_t huge = int64_t{1} << 32;
  CHECK(error_of("add", {}, {f32({huge, 1}), f32({1, huge})}).starts_with("too-large"));
}
