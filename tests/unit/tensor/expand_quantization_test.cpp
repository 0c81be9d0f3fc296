// Quantizations without divisions give the integers of the division, for all types, scales and floats.
#include "tensor/passes/expand_quantization.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tensor/builder.h"
#include "tensor/evaluate.h"
#include "tensor/schedules/naive.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

Expr real(double value) { return literal(dtype::f32, value); }

// x / scale rounded, plus a zero point, between bounds, and the stored number minus the zero point as float32 again.
Kernel quantization(DType type, float scale, int zero, double low, double high, int64_t count, bool dequantizes) {
  Definition d("quantization");
  Tensor x = d.input("x", dtype::f32, {count});
  d.result("y", dequantizes ? dtype::f32 : type, {count}, [&](Index i) {
    const Expr rounded = round_even(x(i) / real(scale)) + cast(dtype::f32, literal(type, int64_t{zero}));
    const Expr stored = cast(type, max(min(rounded, real(high)), real(low)));
    return dequantizes ? cast(dtype::f32, cast(dtype::i32, stored) - literal(dtype::i32, int64_t{zero})) : stored;
  });
  return naive_schedule(d.finish());
}

bool divides(const Kernel& k) {
  bool found = false;
  rewrite(k.body, [&](const Expr& e) {
    const Binary* b = as<Binary>(e);
    found |= b && b->op == BinaryOp::div && e.type() == dtype::f32;
    return e;
  });
  return found;
}

// All ties of the type and the numbers next to them, random numbers, and those that are not finite.
std::vector<float> numbers(float scale, int64_t low, int64_t high, uint32_t seed) {
  std::vector<float> list = {0,
                             -0.0F,
                             INFINITY,
                             -INFINITY,
                             NAN,
                             std::numeric_limits<float>::max(),
                             -std::numeric_limits<float>::max(),
                             std::numeric_limits<float>::denorm_min()};
  for (int64_t k = low - 3; k <= high + 3; ++k) {
    float x = static_cast<float>((static_cast<double>(k) + 0.5) * scale);
    x = std::nextafter(std::nextafter(x, -INFINITY), -INFINITY);
    for (int n = 0; n < 5; ++n, x = std::nextafter(x, INFINITY)) list.push_back(x);
  }
  for (int k = 0; k < 500; ++k) list.push_back(std::bit_cast<float>(seed = seed * 1664525 + 1013904223));
  return list;
}

}  // namespace

TEST_CASE("quantizations by multiplications are exact") {
  struct Type {
    DType type;
    int64_t low, high;
  };
  int expanded = 0, all = 0;
  uint32_t seed = 1;
  for (const auto& [type, low, high] : {Type{dtype::u8, 0, 255}, {dtype::i8, -128, 127}, {dtype::i16, -32768, 32767}})
    for (int k = 0; k < (type == dtype::i16 ? 12 : 150); ++k) {
      // Scales over the range of float32, of all mantissas; powers of two among them.
      seed = seed * 1664525 + 1013904223;
      const auto bits = k % 8 == 0 ? (seed & 0x7F800000U) : seed & 0x7FFFFFFFU;
      const float scale = k % 3 == 0 ? 0.001F + static_cast<float>(seed >> 8) * 1e-9F : std::bit_cast<float>(bits);
      if (!(scale >= 0x1p-126F && scale <= 0x1p127F)) continue;
      const int zero = type == dtype::u8 ? static_cast<int>(seed >> 24) : static_cast<int>(seed >> 24) - 128;
      const std::vector<float> x = numbers(scale, low - zero, high - zero, seed);
      for (const bool dequantizes : {false, true}) {
        CAPTURE(scale);
        CAPTURE(zero);
        const Kernel before = quantization(type, scale, zero, static_cast<double>(low), static_cast<double>(high),
                                           static_cast<int64_t>(x.size()), dequantizes);
        Kernel after = before;
        after.body = expand_quantization(after.body);
        ++all, expanded += !divides(after);
        const std::vector<Constant> args = {Constant::of<float>(dtype::f32, {static_cast<int64_t>(x.size())}, x)};
        const Constant expected = evaluate(before, args).results[0], got = evaluate(after, args).results[0];
        for (int64_t i = 0; i < got.count(); ++i)
          REQUIRE_MESSAGE((got.number_at(i) == expected.number_at(i) &&
                           std::signbit(got.number_at(i)) == std::signbit(expected.number_at(i))),
                          x[static_cast<size_t>(i)]);
      }
    }
  CHECK(all > 400);
  CHECK(expanded > all * 99 / 100);
}

TEST_CASE("other divisions stay") {
  const auto expands = [](const std::function<Expr(Expr)>& f, DType type) {
    Definition d("f");
    Tensor x = d.input("x", dtype::f32, {4}), s = d.input("s", dtype::f32, {4});
    d.result("y", type, {4}, [&](Index i) { return f(x(i)); });
    return !divides({.body = expand_quantization(naive_schedule(d.finish()).body)});
  };
  auto quotient = [](const Expr& x, double scale) { return round_even(x / real(scale)); };
  CHECK(expands([&](const Expr& x) { return cast(dtype::u8, quotient(x, 0.3)); }, dtype::u8));
  CHECK(!expands([&](const Expr& x) { return cast(dtype::i32, quotient(x, 0.3)); }, dtype::i32));
  CHECK(!expands([&](const Expr& x) { return quotient(x, 0.3); }, dtype::f32));
  CHECK(!expands([&](const Expr& x) { return cast(dtype::u8, x / real(0.3)); }, dtype::u8));
  CHECK(!expands([&](const Expr& x) { return cast(dtype::u8, quotient(x, -0.3)); }, dtype::u8));
  CHECK(!expands([&](const Expr& x) { return cast(dtype::u8, quotient(x, 1e-40)); }, dtype::u8));
}

}  // namespace dlcc::tensor
