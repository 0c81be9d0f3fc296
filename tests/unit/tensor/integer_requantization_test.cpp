// Sums are requantized in integers with the results of the floats: for random scales, biases, zero points and bounds,
// at all steps of the function and at random sums.
#include "tensor/passes/integer_requantization.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tensor/builder.h"
#include "tensor/evaluate.h"
#include "tensor/fixed_point.h"
#include "tensor/parse.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

constexpr int64_t channels = 3;

// The functions that a test requantizes: u8(max(min(round(f32(sum[i, c]) * scale[c] + bias[c]), high), low)) and
// others.
std::string text_of(const std::string& type, const std::string& value, const std::string& reduced = "64") {
  return "tensor @f(x: u8[2, " + reduced + "], w: i8[3, " + reduced + "], scale: f32[3], bias: f32[3]) -> (y: " + type +
         "[2, 3]) {\n  temp sums: i32[2, 3]\n  sums[i < 2, c < 3] = sum(k < " + reduced +
         ") { i32(x[i, k]) * i32(w[c, k]) }\n  y[i < 2, c < 3] = " + value + "\n}\n";
}

TensorFunction function_of(const std::string& text) {
  Diagnostics diagnostics;
  auto module = parse(text, "test", diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.str() << text);
  return module->functions.at(0);
}

using Numbers = std::vector<float>;

std::optional<IntegerRequantization> requantized(const TensorFunction& f, const Numbers& scales, const Numbers& biases,
                                                 bool has_long_product = true) {
  const Constant scale = Constant::of(dtype::f32, {channels}, scales),
                 bias = Constant::of(dtype::f32, {channels}, biases);
  return requantize_in_integers(f, {nullptr, nullptr, &scale, &bias}, {has_long_product});
}

// The last stage alone, for `count` rows of sums that are a parameter.
TensorFunction last_stage(TensorFunction f, int64_t count) {
  const Buffer sums = f.stages[0].results[0], rows = make_buffer("sums", dtype::i32, {count, channels}),
               results = make_buffer("y", f.results[0]->type, {count, channels});
  f.params.erase(f.params.begin(), f.params.begin() + 2);
  f.params.insert(f.params.begin(), rows);
  f.stages.erase(f.stages.begin());
  f.stages[0].axes[0].extent = Dim(count);
  f.stages[0].results = f.results = {results};
  f.stages[0].values[0] = rewrite_accesses(f.stages[0].values[0], [&](Buffer& b, std::vector<Expr>&) {
    if (b == sums) b = rows;
  });
  return f;
}

// Sums around the steps of each channel, and others.
std::vector<int32_t> sums_around_steps(const Numbers& scales, const Numbers& biases, double largest,
                                       std::mt19937& random) {
  std::vector<int32_t> sums;
  auto add = [&](double sum) { sums.push_back(static_cast<int32_t>(std::clamp(sum, -largest, largest))); };
  std::uniform_real_distribution<double> any(-largest, largest);
  for (int step = -256; step <= 256; ++step)
    for (int near = -2; near <= 2; ++near)
      for (size_t c = 0; c < channels; ++c) add(std::ceil((step - 0.5 - biases[c]) / scales[c]) + near);
  for (int k = 0; k < 1000 * channels; ++k) add(any(random));
  for (int k = 0; k < channels; ++k) add(-largest);
  for (int k = 0; k < channels; ++k) add(largest);
  return sums;
}

void check_equal(const std::string& type, const std::string& value, const Numbers& scales, const Numbers& biases,
                 bool has_long_product, std::mt19937& random) {
  CAPTURE(value);
  CAPTURE(scales[0]);
  const TensorFunction f = function_of(text_of(type, value));
  const auto integers = requantized(f, scales, biases, has_long_product);
  REQUIRE(integers);
  constexpr double largest = 64 * 255 * 128;
  const std::vector<int32_t> sums = sums_around_steps(scales, biases, largest, random);
  const int64_t count = static_cast<int64_t>(sums.size()) / channels;
  std::vector<Constant> args = {Constant::of(dtype::i32, {count, channels}, sums),
                                Constant::of(dtype::f32, {channels}, scales),
                                Constant::of(dtype::f32, {channels}, biases)};
  const Constant expected = evaluate(last_stage(f, count), args).results[0];
  args.insert(args.end(), integers->constants.begin(), integers->constants.end());
  TensorFunction last = last_stage(integers->function, count);
  CHECK(evaluate(last, args).results[0].same_as(expected));
  // Most sums are computed in integers.
  const Expr changed = last.stages[0].values[0];
  REQUIRE(as<Select>(changed));
  last.results = last.stages[0].results = {make_buffer("doubts", dtype::i32, {count, channels})};
  last.stages[0].values[0] = cast(dtype::i32, as<Select>(changed)->condition);
  const Constant doubts = evaluate(last, args).results[0];
  int64_t total = 0, all = 0;
  for (int64_t k = count * channels - 1000 * channels; k < count * channels; ++k) total += doubts.integer_at(k), ++all;
  CHECK(total * 8 <= all);
}

const std::vector<std::pair<std::string, std::string>> forms = {
    {"u8", "u8(round(f32(sums[i, c]) * scale[c] + bias[c]))"},
    {"i8", "i8(round(f32(sums[i, c]) * scale[c] + bias[c]))"},
    {"u8", "u8(max(min(i32(round(f32(sums[i, c]) * scale[c] + bias[c])), 151i32), -104i32) + 104i32)"},
    {"i8", "i8(max(min(i32(round(f32(sums[i, c]) * scale[c] + bias[c])) - 11i32, 127i32), -128i32))"},
    {"u8", "u8(max(min(round(f32(sums[i, c]) * scale[c] + bias[c]) + 3.0, 200.0), 3.0))"},
    {"u8", "u8(round(max(min((f32(sums[i, c]) * scale[c] + bias[c]) * 0.25, 6.0), 0.0) / 0.025))"},
    {"i8", "i8(round(max(f32(sums[i, c]) * scale[c] + bias[c], 0.0)) - 100.0)"},
};

TEST_CASE("requantizations in integers have the results of floats") {
  std::mt19937 random(20);
  std::uniform_real_distribution<float> exponent(-13, -7), bias(-150, 150);
  for (int trial = 0; trial < 6; ++trial)
    for (const auto& [type, value] : forms)
      for (const bool has_long_product : {true, false}) {
        const float common = exponent(random);
        Numbers scales, biases;
        for (int c = 0; c < channels; ++c) {
          scales.push_back(std::exp2(common + static_cast<float>(c) / 4));
          biases.push_back(bias(random));
        }
        check_equal(type, value, scales, biases, has_long_product, random);
      }
}

// Sums whose numbers are ties are rounded to even numbers: no line has such steps.
TEST_CASE("requantizations in integers of ties") {
  std::mt19937 random(21);
  for (const auto& [type, value] : forms)
    check_equal(type, value, {0x1p-9F, 0x1p-10F, 3 * 0x1p-12F}, {0, 0.5, -3.25}, true, random);
}

TEST_CASE("a channel whose number does not depend on the sum") {
  std::mt19937 random(22);
  check_equal(forms[0].first, forms[0].second, {1e-9F, 0x1p-10F, 1e-12F}, {3, 0.5, 200}, true, random);
  check_equal(forms[0].first, forms[0].second, {1e-9F, 1e-9F, 0}, {300, -9, 0}, true, random);
}

TEST_CASE("what stays in floats") {
  const Numbers scales = {0.001F, 0.002F, 0.001F}, biases = {0, 1, 2};
  const std::string common = "u8(round(f32(sums[i, c]) * scale[c] + bias[c]))";
  CHECK(requantized(function_of(text_of("u8", common)), scales, biases));
  constexpr float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float scale : {-0.001F, 1.F, infinite, nan})
    CHECK(!requantized(function_of(text_of("u8", common)), {0.001F, 0.001F, scale}, biases));
  CHECK(!requantized(function_of(text_of("u8", common)), scales, {0, 0, nan}));
  CHECK(!requantized(function_of(text_of("u8", common, "60000")), scales, biases));  // the sums exceed 30 bits
  for (const auto& [type, value] : std::vector<std::pair<std::string, std::string>>{
           {"i32", "i32(round(f32(sums[i, c]) * scale[c] + bias[c]))"},        // more than 256 values
           {"u8", "u8(i32(round(f32(sums[i, c]) * scale[c] + bias[c])))"},     // wraps
           {"u8", "u8(round(bias[c] - f32(sums[i, c]) * scale[c]))"},          // decreases
           {"u8", "u8(round(f32(sums[i, c]) * f32(sums[i, c]) * scale[c]))"},  // decreases for negative sums
           {"u8", "u8(round(f32(sums[i, c]) * scale[c] + f32(x[i, c])))"},     // depends on the data
           {"u8", "u8(round(f32(sums[i, c]) * scale[c] + bias[i]))"},          // depends on two axes
           {"u8", "u8(round(scale[c] / (f32(sums[i, c]) + bias[c])))"},        // a quotient of constants
           {"u8", "u8(max(min(sums[i, c], 255i32), 0i32))"},                   // has no floats
       }) {
    CAPTURE(value);
    CHECK(!requantized(function_of(text_of(type, value)), scales, biases));
  }
}

TEST_CASE("the numbers of the host are those of the expression") {
  std::mt19937 random(23);
  std::uniform_int_distribution<int32_t> any(-(1 << 20), 1 << 20);
  const Var sum = make_var("sum", dtype::i32);
  for (const bool has_long_product : {true, false}) {
    const FixedPointFormat format{has_long_product, 9, 13, 3};
    const FixedPointFactors factors{has_long_product ? 0x7654321 : 0x8765, -54321};
    const CompiledScalar number(fixed_point_number(format, sum, literal(dtype::i32, int64_t{factors.multiplier}),
                                                   literal(dtype::i32, int64_t{factors.offset})));
    for (int k = 0; k < 100; ++k) {
      const int32_t value = any(random);
      const std::vector<Constant> args = {Constant::of(dtype::i32, {}, std::vector<int32_t>{value})};
      CHECK(number.value(args).integer_at(0) == fixed_point_number(format, factors, value));
    }
  }
}

}  // namespace
}  // namespace dlcc::tensor
