// The semantics of expressions (tensor/ir.h) in full vectors, remainders and scalar loops.
#include <cmath>
#include <cstring>
#include <limits>
#include <regex>

#include "harness.h"
#include "support/float_formats.h"

namespace dlcc::test {

constexpr DType float8_types[] = {DType::float8_e8m0fnu_, DType::float8_e4m3fn_, DType::float8_e4m3fnuz_,
                                  DType::float8_e5m2_, DType::float8_e5m2fnuz_};

using namespace tensor;

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

// y[i] = f(a[i], b[i]) in a vector loop and again in a serial one; checks that both results are equal and returns them.
template <class Result, class Operand>
std::vector<Result> apply(DType result, DType operand, const std::vector<Operand>& a, const std::vector<Operand>& b,
                          const std::function<Expr(Expr, Expr)>& f) {
  auto n = static_cast<int64_t>(a.size());
  Buffer x = make_buffer("a", operand, {n}), z = make_buffer("b", operand, {n});
  Buffer y = make_buffer("y", result, {2, n});
  std::vector<Stmt> loops;
  for (LoopKind kind : {LoopKind::vector, LoopKind::serial}) {
    Var i = make_var("i");
    loops.push_back(
        for_loop(i, n, kind, store(y, {kind == LoopKind::vector ? 0 : 1, i}, f(load(x, {i}), load(z, {i})))));
  }
  Kernel kernel{"apply", {{x, Access::read}, {z, Access::read}, {y, Access::write}}, sequence(loops)};
  auto ran = run(kernel, {Constant::of(operand, {n}, a), Constant::of(operand, {n}, b)});
  auto values = ran.outputs[0].template as<Result>();
  for (int64_t k = 0; k < n; ++k) CHECK(std::memcmp(&values[k], &values[n + k], sizeof(Result)) == 0);
  return {values.begin(), values.begin() + n};
}

template <class T>
void check_equal(const std::vector<T>& got, const std::vector<T>& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    if (wanted[i] != wanted[i])
      CHECK(got[i] != got[i]);
    else
      CHECK(got[i] == wanted[i]);
  }
}

std::function<Expr(Expr, Expr)> op(BinaryOp which) {
  return [which](Expr a, Expr b) { return binary(which, a, b); };
}
std::function<Expr(Expr, Expr)> to(DType type, bool saturate = true) {
  return [=](Expr a, Expr) { return cast(type, a, saturate); };
}

const int32_t low = std::numeric_limits<int32_t>::min();

}  // namespace

TEST_CASE("integer division never traps") {
  std::vector<int32_t> a = {7, -7, 7, -7, 5, low, low, 0, 1, -1, 9, -9, 100, -100, 3, low, 17},
                       b = {2, 2, -2, -2, 0, -1, 0, 5, -1, 1, 3, 3, 7, 7, 4, 1, -5};
  check_equal(apply<int32_t>(dtype::i32, dtype::i32, a, b, op(BinaryOp::div)),
              {3, -3, -3, 3, 0, low, 0, 0, -1, -1, 3, -3, 14, -14, 0, low, -3});
  check_equal(apply<int32_t>(dtype::i32, dtype::i32, a, b, op(BinaryOp::rem)),
              {1, -1, 1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 2, -2, 3, 0, 2});
  check_equal(apply<int32_t>(dtype::i32, dtype::i32, a, b, op(BinaryOp::floor_div)),
              {3, -4, -4, 3, 0, low, 0, 0, -1, -1, 3, -3, 14, -15, 0, low, -4});
  check_equal(apply<int32_t>(dtype::i32, dtype::i32, a, b, op(BinaryOp::floor_mod)),
              {1, 1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 5, 3, 0, -3});
  check_equal(apply<uint8_t, uint8_t>(dtype::u8, dtype::u8, {200, 7, 255}, {3, 0, 255}, op(BinaryOp::div)), {66, 0, 1});
}

TEST_CASE("divisions of indices with known ranges equal general divisions") {
  // The quotients and remainders of `first`..`first` + 63, whose range the emitter knows.
  constexpr int64_t count = 64, largest = std::numeric_limits<int32_t>::max();
  const std::vector<int64_t> divisors = {1,  2,   3,   5,    7,     11,      14,          49,      64,
                                         96, 127, 641, 4096, 65537, 1048573, largest - 1, largest, largest + 2};
  std::vector<int64_t> firsts = {0, 1, -1, -63, -200, largest - 200, largest - 63, largest - 62, largest, 1LL << 40};
  for (int64_t d : divisors) firsts.push_back(std::max<int64_t>(99 * d % largest - 31, 0));
  auto n = static_cast<int64_t>(divisors.size());
  Buffer y = make_buffer("y", dtype::i64, {2, n, count});
  for (int64_t first : firsts) {
    CAPTURE(first);
    std::vector<Stmt> loops;
    for (int64_t k = 0; k < n; ++k) {
      Var i = make_var("i");
      Expr a = Expr(i) + Expr(first), d = Expr(divisors[static_cast<size_t>(k)]);
      loops.push_back(for_loop(i, count, LoopKind::serial,
                               sequence({store(y, {0, k, i}, binary(BinaryOp::floor_div, a, d)),
                                         store(y, {1, k, i}, binary(BinaryOp::floor_mod, a, d))})));
    }
    auto ran = run({"divided", {{y, Access::write}}, sequence(loops)}, {});
    auto got = ran.outputs[0].as<int64_t>();
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = 0; i < count; ++i) {
        int64_t d = divisors[static_cast<size_t>(k)], a = first + i, r = (a % d + d) % d;
        CHECK(got[static_cast<size_t>(k * count + i)] == (a - r) / d);
        CHECK(got[static_cast<size_t>((n + k) * count + i)] == r);
      }
  }
}

TEST_CASE("shifts by any amount are defined") {
  std::vector<int32_t> a = {1, 1, 1, -8, -8, -8, 8, low}, b = {31, 32, -1, 1, 40, -1, 2, 31};
  check_equal(apply<int32_t>(dtype::i32, dtype::i32, a, b, op(BinaryOp::shl)), {low, 0, 0, -16, 0, 0, 32, 0});
  check_equal(apply<int32_t>(dtype::i32, dtype::i32, a, b, op(BinaryOp::shr)), {0, 0, 0, -4, -1, -1, 2, -1});
  check_equal(apply<uint8_t, uint8_t>(dtype::u8, dtype::u8, {255, 255}, {7, 8}, op(BinaryOp::shr)), {1, 0});
}

TEST_CASE("min and max propagate NaN and return the second of two zeros") {
  std::vector<float> a = {1, nan, 1, nan, 0.f, -0.f, -infinity, 3}, b = {2, 1, nan, nan, -0.f, 0.f, 5, -infinity};
  auto largest = apply<float>(dtype::f32, dtype::f32, a, b, op(BinaryOp::max));
  check_equal(largest, {2, nan, nan, nan, -0.f, 0.f, 5, 3});
  CHECK(std::signbit(largest[4]));
  CHECK(!std::signbit(largest[5]));
  check_equal(apply<float>(dtype::f32, dtype::f32, a, b, op(BinaryOp::min)),
              {1, nan, nan, nan, -0.f, 0.f, -infinity, -infinity});
  auto relu = apply<float>(dtype::f32, dtype::f32, a, b, [](Expr x, Expr) { return max(literal(dtype::f32, 0.0), x); });
  check_equal(relu, {1, nan, 1, nan, 0, 0, 0, 3});
  CHECK(std::signbit(relu[5]));
}

TEST_CASE("comparisons, rounding and classification") {
  std::vector<float> a = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, nan, infinity, 1e10f},
                     b = {0.5f, 2, nan, 0, -2, nan, infinity, 0};
  auto as_byte = [](BinaryOp which) {
    return [which](Expr x, Expr y) { return cast(dtype::u8, binary(which, x, y)); };
  };
  check_equal(apply<uint8_t>(dtype::u8, dtype::f32, a, b, as_byte(BinaryOp::lt)), {0, 1, 0, 1, 0, 0, 0, 0});
  check_equal(apply<uint8_t>(dtype::u8, dtype::f32, a, b, as_byte(BinaryOp::ge)), {1, 0, 0, 0, 1, 0, 1, 1});
  check_equal(apply<uint8_t>(dtype::u8, dtype::f32, a, b, as_byte(BinaryOp::ne)), {0, 1, 1, 1, 1, 1, 0, 1});
  auto one = [](UnaryOp which) { return [which](Expr x, Expr) { return unary(which, x); }; };
  check_equal(apply<float>(dtype::f32, dtype::f32, a, b, one(UnaryOp::round_even)),
              {0, 2, 2, -0.f, -2, nan, infinity, 1e10f});
  check_equal(apply<float>(dtype::f32, dtype::f32, a, b, one(UnaryOp::floor)), {0, 1, 2, -1, -2, nan, infinity, 1e10f});
  check_equal(apply<float>(dtype::f32, dtype::f32, a, b, one(UnaryOp::trunc)), {0, 1, 2, 0, -1, nan, infinity, 1e10f});
  check_equal(apply<uint8_t>(dtype::boolean, dtype::f32, a, b, one(UnaryOp::is_nan)), {0, 0, 0, 0, 0, 1, 0, 0});
  check_equal(apply<uint8_t>(dtype::boolean, dtype::f32, a, b, one(UnaryOp::is_inf)), {0, 0, 0, 0, 0, 0, 1, 0});
  check_equal(apply<int8_t, int8_t>(dtype::i8, dtype::i8, {-128, -1, 5}, {0, 0, 0}, one(UnaryOp::abs)), {-128, 1, 5});
}

TEST_CASE("floats convert to integers by truncation and saturation") {
  std::vector<float> a = {1.9f, -1.9f, nan, 1e20f, -1e20f, infinity, 300, -3};
  check_equal(apply<int32_t>(dtype::i32, dtype::f32, a, a, to(dtype::i32)),
              {1, -1, 0, INT32_MAX, low, INT32_MAX, 300, -3});
  check_equal(apply<uint8_t>(dtype::u8, dtype::f32, a, a, to(dtype::u8)), {1, 0, 0, 255, 0, 255, 255, 0});
  check_equal(apply<int64_t>(dtype::i64, dtype::f32, a, a, to(dtype::i64)),
              {1, -1, 0, INT64_MAX, INT64_MIN, INT64_MAX, 300, -3});
  check_equal(apply<uint64_t>(dtype::u64, dtype::f32, a, a, to(dtype::u64)),
              {1, 0, 0, UINT64_MAX, 0, UINT64_MAX, 300, 0});
  check_equal(apply<uint8_t, float>(dtype::boolean, dtype::f32, {0.f, -0.f, nan, 0.1f}, {0.f, 0.f, 0.f, 0.f},
                                    to(dtype::boolean)),
              {0, 0, 1, 1});
  check_equal(apply<int8_t, int32_t>(dtype::i8, dtype::i32, {300, -129, 127}, {0, 0, 0}, to(dtype::i8)),
              {44, 127, 127});
  check_equal(apply<float, uint64_t>(dtype::f32, dtype::u64, {UINT64_MAX, 1}, {0, 0}, to(dtype::f32)),
              {18446744073709551616.f, 1});
}

TEST_CASE("generated conversions of narrow floats equal the compiler's") {
  std::vector<float> a = {0,
                          -0.f,
                          1,
                          -1.5f,
                          65504,
                          65519,
                          65520,
                          1e-8f,
                          6e-8f,
                          3e-5f,
                          0.1f,
                          nan,
                          infinity,
                          -infinity,
                          448,
                          449,
                          464,
                          465,
                          500,
                          57344,
                          61440,
                          1e9f,
                          -1e9f,
                          0.001953125f,
                          0.0009765625f,
                          0.0029296875f,
                          1.0625f,
                          1.1875f,
                          240,
                          248,
                          0.00390625f,
                          -0.0001f,
                          3.0517578125e-05f};
  std::vector<uint16_t> half, brain;
  for (float v : a) half.push_back(float_to_half(v)), brain.push_back(float_to_bfloat16(v));
  check_equal(apply<uint16_t>(dtype::f16, dtype::f32, a, a, to(dtype::f16)), half);
  check_equal(apply<uint16_t>(dtype::bf16, dtype::f32, a, a, to(dtype::bf16)), brain);
  for (DType type : float8_types)
    for (bool saturate : {true, false}) {
      CAPTURE(name(type));
      CAPTURE(saturate);
      std::vector<uint8_t> wanted;
      for (float v : a) wanted.push_back(float_to_minifloat(type, v, saturate));
      check_equal(apply<uint8_t>(type, dtype::f32, a, a, to(type, saturate)), wanted);
    }
  std::vector<uint16_t> patterns;
  for (uint32_t p = 0; p < 65536; p += 13) patterns.push_back(static_cast<uint16_t>(p));
  std::vector<float> wide, from_brain;
  for (uint16_t p : patterns) wide.push_back(half_to_float(p)), from_brain.push_back(bfloat16_to_float(p));
  check_equal(apply<float>(dtype::f32, dtype::f16, patterns, patterns, to(dtype::f32)), wide);
  check_equal(apply<float>(dtype::f32, dtype::bf16, patterns, patterns, to(dtype::f32)), from_brain);
  std::vector<uint8_t> bytes;
  for (int p = 0; p < 256; ++p) bytes.push_back(static_cast<uint8_t>(p));
  for (DType type : float8_types) {
    CAPTURE(name(type));
    std::vector<float> numbers;
    for (uint8_t p : bytes) numbers.push_back(minifloat_to_float(type, p));
    check_equal(apply<float>(dtype::f32, type, bytes, bytes, to(dtype::f32)), numbers);
  }
}

TEST_CASE("float64 rounds to a narrow float once") {
  // Just above the midpoint of two float16 numbers: rounding to float32 first would give the midpoint.
  std::vector<double> a = {1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-11, 1.0 + 3 * 0x1p-11, -(1.0 + 0x1p-11 + 0x1p-40),
                           1e300};
  check_equal(apply<uint16_t>(dtype::f16, dtype::f64, a, a, to(dtype::f16)), {0x3C01, 0x3C00, 0x3C02, 0xBC01, 0x7C00});
}

TEST_CASE("a fused multiply-add rounds once on every CPU") {
  std::vector<float> a = {1 + 0x1p-23f, 1e30f, 3, 0.1f, 1.5f, infinity, 0x1p-100f},
                     b = {1 - 0x1p-23f, 1e30f, 7, 10, -2, 0, 0x1p-40f};
  auto product = [](Expr x, Expr y) { return fma(x, y, literal(dtype::f32, -1.0)); };
  std::vector<float> wanted;
  for (size_t i = 0; i < a.size(); ++i) wanted.push_back(std::fma(a[i], b[i], -1.f));
  check_equal(apply<float>(dtype::f32, dtype::f32, a, b, product), wanted);
  std::vector<double> c = {1 + 0x1p-52, 0.1, 3, 1e150, infinity}, d = {1 - 0x1p-52, 10, 7, -1e100, 1};
  auto zeros = apply<double>(dtype::f64, dtype::f64, std::vector<double>{-0.0, 1}, std::vector<double>{1, 0},
                             [](Expr x, Expr y) { return fma(x, y, literal(dtype::f64, -0.0)); });
  CHECK(std::signbit(zeros[0]));
  CHECK(!std::signbit(zeros[1]));
  std::vector<double> expected;
  for (size_t i = 0; i < c.size(); ++i) expected.push_back(std::fma(c[i], d[i], -1.0));
  check_equal(
      apply<double>(dtype::f64, dtype::f64, c, d, [](Expr x, Expr y) { return fma(x, y, literal(dtype::f64, -1.0)); }),
      expected);
}

TEST_CASE("a number times a power of two is rounded once, on AVX-512 by one instruction") {
  auto power_of_two = [](const Expr& n) {
    return bitcast(dtype::f32,
                   binary(BinaryOp::shl, n + literal(dtype::i32, int64_t{127}), literal(dtype::i32, int64_t{23})));
  };
  const std::function<Expr(Expr, Expr)> scaled = [&](Expr x, Expr exponent) {
    const Expr n = cast(dtype::i32, exponent), half = binary(BinaryOp::shr, n, literal(dtype::i32, int64_t{1}));
    return x * power_of_two(half) * power_of_two(n - half);
  };
  // Subnormal results, ties of them, zero, the largest numbers and infinity; in vectors of 16 and 8 lanes.
  const std::vector<float> numbers = {1 + 0x1p-23f, 1.5f, -1.25f, 0x1.fffffep0f, 0, infinity, nan};
  std::vector<float> a, b, wanted;
  for (const int exponent : {-150, -149, -140, -127, -126, 0, 127, 128})
    for (const float x : numbers)
      a.push_back(x), b.push_back(static_cast<float>(exponent)), wanted.push_back(std::ldexp(x, exponent));
  check_equal(apply<float>(dtype::f32, dtype::f32, a, b, scaled), wanted);

  Buffer x = make_buffer("x", dtype::f32, {28}), n = make_buffer("n", dtype::f32, {28}),
         y = make_buffer("y", dtype::f32, {28});
  Var i = make_var("i");
  const Kernel kernel{"scaled",
                      {{x, Access::read}, {n, Access::read}, {y, Access::write}},
                      for_loop(i, 28, LoopKind::vector, store(y, {i}, scaled(load(x, {i}), load(n, {i}))))};
  const std::string code = assembly(kernel, "x86-64-v4");
  for (const char* vector : {"zmm", "ymm", "xmm"})
    CHECK(std::regex_search(code, std::regex("vscalefps[^\n]*" + std::string(vector))));
  CHECK(code.find("vmulps") == std::string::npos);
  CHECK(assembly(kernel, "x86-64-v3").find("vscalefps") == std::string::npos);
}

TEST_CASE("float sums are not contracted") {
  std::vector<float> a = {1 + 0x1p-23f}, b = {1 - 0x1p-23f};
  check_equal(
      apply<float>(dtype::f32, dtype::f32, a, b, [](Expr x, Expr y) { return x * y + literal(dtype::f32, -1.0); }),
      {0.f});
}

TEST_CASE("elements of 2 bits and of float4 share bytes") {
  Buffer x = make_buffer("x", DType::int2_, {6}), y = make_buffer("y", dtype::i8, {6}),
         z = make_buffer("z", DType::uint2_, {6}), w = make_buffer("w", DType::float4_e2m1fn_, {3});
  Var i = make_var("i"), j = make_var("j"), k = make_var("k");
  const Expr third = cast(dtype::f32, load(y, {k})) / literal(dtype::f32, 3.0);
  Stmt body = sequence({for_loop(i, 6, LoopKind::vector, store(y, {i}, cast(dtype::i8, load(x, {i})))),
                        for_loop(j, 6, LoopKind::serial, store(z, {j}, cast(DType::uint2_, load(y, {j})))),
                        for_loop(k, 3, LoopKind::vector, store(w, {k}, cast(DType::float4_e2m1fn_, third)))});
  const Constant packed = Constant(DType::int2_, {6}, {std::byte{0b01'10'11'00}, std::byte{0b10'01}});
  auto ran =
      run({"parts", {{x, Access::read}, {y, Access::write}, {z, Access::write}, {w, Access::write}}, body}, {packed});
  std::vector<int64_t> wide, narrow;
  std::vector<double> quarters;
  for (int64_t n = 0; n < 6; ++n)
    wide.push_back(ran.outputs[0].integer_at(n)), narrow.push_back(ran.outputs[1].integer_at(n));
  for (int64_t n = 0; n < 3; ++n) quarters.push_back(ran.outputs[2].number_at(n));
  check_equal(wide, {0, -1, -2, 1, 1, -2});
  check_equal(narrow, {0, 3, 2, 1, 1, 2});
  CHECK(ran.outputs[1].bytes()[1] == std::byte{0b10'01});  // unused bits are 0
  check_equal(quarters, {0, -0.5, -0.5});                  // -1/3 and -2/3, rounded
}

TEST_CASE("two 4-bit elements share a byte") {
  Buffer x = make_buffer("x", DType::int4_, {5}), y = make_buffer("y", dtype::i8, {5}),
         z = make_buffer("z", DType::uint4_, {5});
  Var i = make_var("i"), j = make_var("j");
  Stmt body = sequence({for_loop(i, 5, LoopKind::vector, store(y, {i}, cast(dtype::i8, load(x, {i})))),
                        for_loop(j, 5, LoopKind::serial, store(z, {j}, cast(DType::uint4_, load(y, {j}))))});
  Constant nibbles = Constant(DType::int4_, {5}, {std::byte{0x81}, std::byte{0xF7}, std::byte{0x03}});
  auto ran = run({"nibbles", {{x, Access::read}, {y, Access::write}, {z, Access::write}}, body}, {nibbles});
  std::vector<int64_t> wide, narrow;
  for (int64_t k = 0; k < 5; ++k)
    wide.push_back(ran.outputs[0].integer_at(k)), narrow.push_back(ran.outputs[1].integer_at(k));
  check_equal(wide, {1, -8, 7, -1, 3});
  check_equal(narrow, {1, 8, 7, 15, 3});
}

}  // namespace dlcc::test
