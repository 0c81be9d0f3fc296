// Normalization by statistics, local response normalization, logarithms of sums, losses.
#include "operators.h"

using namespace dlcc;
using namespace dlcc::relay;
using tensor::Status;

TEST_CASE("nn.standardize gives mean 0 and variance 1, then scales and shifts") {
  const Constant one = floats({}, {1}), zero = floats({}, {0});
  const double s = std::sqrt(1.5);
  check_values(apply("nn.standardize", {{"axis", list({1})}, {"epsilon", 0.0}}, {floats({1, 3}, {1, 2, 3}), one, zero}),
               {1, 3}, {-s, 0, s});
  check_values(apply("nn.standardize", {{"axis", list({1})}, {"epsilon", 0.0}},
                     {floats({1, 3}, {1, 2, 3}), floats({3}, {2, 3, 4}), floats({1, 1}, {1})}),
               {1, 3}, {1 - 2 * s, 1, 1 + 4 * s});
  check_values(apply("nn.standardize", {{"axis", list({-1})}, {"epsilon", 0.25}}, {floats({1, 2}, {10, 10}), one, one}),
               {1, 2}, {1, 1});
  const double r = std::sqrt(13);
  check_values(apply("nn.standardize", {{"axis", list({0, 1})}, {"epsilon", 4.0}, {"center", false}},
                     {floats({2, 2}, {0, 2, 4, -4}), one, zero}),
               {2, 2}, {0, 2 / r, 4 / r, -4 / r});
  check_values(apply("nn.standardize", {{"axis", list({1})}}, {floats({2, 0}, {}), one, zero}), {2, 0}, {});
  const Constant half = apply("nn.standardize", {{"axis", list({1})}, {"epsilon", 0.0}},
                              {tensor_of(dtype::f16, {1, 2}, {1, 3}), floats({2}, {0.5, 2}), one});
  CHECK(half.dtype() == dtype::f16);
  check_values(half, {1, 2}, {0.5, 3});
}

TEST_CASE("the variance of data with a large mean does not lose digits by cancellation") {
  const Constant one = floats({}, {1}), zero = floats({}, {0});
  check_values(
      apply("nn.standardize", {{"axis", list({0})}, {"epsilon", 0.0}}, {floats({2}, {1e6f, 1e6f + 1}), one, zero}), {2},
      {-1, 1});
  Values long_row;
  for (int k = 0; k < 40000; ++k) long_row.push_back(10000 + k % 2);
  const Constant normal =
      apply("nn.standardize", {{"axis", list({0})}, {"epsilon", 0.0}}, {floats({40000}, long_row), one, zero});
  for (int k : {0, 1, 20000, 39999}) CHECK(normal.number_at(k) == doctest::Approx(k % 2 ? 1 : -1).epsilon(1e-2));
}

TEST_CASE("type relation of nn.standardize") {
  CHECK(error_of("nn.standardize", {{"axis", list({})}}, {f32({2}), f32({}), f32({})}) ==
        "bad-attribute: axis names no axes");
  CHECK(error_of("nn.standardize", {{"axis", list({0})}}, {i64({2}), f32({}), f32({})}) ==
        "unsupported-type: data must be float16, bfloat16, float32 or float64, found int64");
  CHECK(error_of("nn.standardize", {{"axis", list({0})}}, {f32({2, 1}), f32({3}), f32({})}) ==
        "shape-mismatch: gamma of shape (3) cannot be broadcast to the data's shape (2, 1)");
}

TEST_CASE("nn.lrn divides by the squares of neighbouring channels") {
  Constant x = floats({1, 4}, {1, 2, 3, 4});
  // Two neighbours are the element and the next one.
  check_values(apply("nn.lrn", {{"size", 2}, {"bias", 1.0}, {"alpha", 2.0}, {"beta", 0.5}}, {x}), {1, 4},
               {1 / std::sqrt(6.0), 2 / std::sqrt(14.0), 3 / std::sqrt(26.0), 4 / std::sqrt(17.0)});
  check_values(apply("nn.lrn", {{"size", 3}, {"bias", 0.0}, {"alpha", 3.0}, {"beta", 1.0}}, {x}), {1, 4},
               {1.0 / 5, 2.0 / 14, 3.0 / 29, 4.0 / 25});
  CHECK(error_of("nn.lrn", {{"size", 0}}, {f32({1, 2})}) == "bad-attribute: size must be at least 1, found 0");
  CHECK(error_of("nn.lrn", {{"size", INT64_MAX}}, {f32({1, 2})}).starts_with("bad-attribute: size must be at most"));
}

TEST_CASE("logsumexp does not overflow") {
  Constant x = floats({4, 2}, {1000, 1000, -infinity, -infinity, infinity, 1, NaN, 1});
  const Values expected = {1000 + std::log(2.0), -infinity, infinity, NaN};
  check_values(apply("logsumexp", {{"axis", list({1})}}, {x}), {4}, expected);
  check_values(apply("logsumexp", {{"axis", list({1})}, {"keepdims", true}}, {x}), {4, 1}, expected);
  check_values(apply("logsumexp", {}, {floats({2}, {0, 0})}), {}, {std::log(2.0)});
  check_values(apply("logsumexp", {{"axis", list({0})}}, {floats({0, 2}, {})}), {2}, {-infinity, -infinity});
  check_values(apply("logsumexp", {}, {floats({}, {3})}), {}, {3});
}

TEST_CASE("nn.sum_pool adds the elements of windows") {
  Constant x = floats({1, 1, 4}, {1, 2, 3, 4});
  check_values(apply("nn.sum_pool1d", {{"pool_size", list({3})}, {"padding", list({1, 1})}}, {x}), {1, 1, 4},
               {3, 6, 9, 7});
  check_values(apply("nn.sum_pool1d", {{"pool_size", list({3})}, {"strides", list({2})}, {"ceil_mode", true}}, {x}),
               {1, 1, 2}, {6, 7});
}

TEST_CASE("nn.nll_loss selects the predictions of targets") {
  Constant x = floats({3, 2}, {1, 2, 3, 4, 5, 6}), targets = ints({1, 0, 1}), weights = floats({2}, {0.5, 2});
  auto loss = [&](const char* reduction, int64_t ignored, const Constant& t) {
    return apply("nn.nll_loss", {{"reduction", reduction}, {"ignore_index", ignored}}, {x, t, weights});
  };
  check_values(loss("none", -100, targets), {3}, {-4, -1.5, -12});
  check_values(loss("sum", -100, targets), {}, {-17.5});
  check_values(loss("mean", -100, targets), {}, {-17.5 / 4.5});
  check_values(loss("none", 0, targets), {3}, {-4, 0, -12});
  check_values(loss("mean", 0, targets), {}, {-4});
  check_values(loss("none", -7, ints({1, -7, 0})), {3}, {-4, 0, -2.5});
  check_values(loss("mean", 1, ints({1, 1, 1})), {}, {NaN});
  CHECK(status_of("nn.nll_loss", {}, {x, ints({0, 2, 1}), weights}) == Status::index_out_of_range);
  CHECK(status_of("nn.nll_loss", {}, {x, ints({0, -1, 1}), weights}) == Status::index_out_of_range);
  Constant image = floats({1, 2, 2}, {1, 2, 3, 4});
  check_values(apply("nn.nll_loss", {{"reduction", "none"}}, {image, ints({1, 2}, {1, 0}), floats({2}, {1, 1})}),
               {1, 2}, {-3, -2});
  CHECK(error_of("nn.nll_loss", {}, {f32({3, 2}), i64({4}), f32({2})}) ==
        "shape-mismatch: axis 0 of targets must equal axis 0 of predictions, found 4 and 3");
  CHECK(error_of("nn.nll_loss", {{"reduction", "median"}}, {f32({3, 2}), i64({3}), f32({2})}) ==
        "bad-attribute: reduction is 'median'");
}
