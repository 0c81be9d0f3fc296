// The comparison of results with expected outputs.
#include "pipeline/verification.h"

#include <doctest/doctest.h>

#include <limits>

using namespace dlcc;

namespace {

bool same(std::vector<float> got, std::vector<float> expected, const Tolerance& t = {}) {
  auto n = static_cast<int64_t>(got.size());
  return compare(Constant::of<float>(dtype::f32, {n}, got), Constant::of<float>(dtype::f32, {n}, expected), t).ok;
}

}  // namespace

TEST_CASE("floats agree within the tolerance, NaN only with NaN, infinities only with equal infinities") {
  float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  CHECK(same({1, 2}, {1, 2}));
  CHECK(!same({1, 2}, {1, 3}));
  CHECK(same({1.001f}, {1}, {.rtol = 0.01, .atol = 0}));
  CHECK(!same({1.1f}, {1}, {.rtol = 0.01, .atol = 0}));
  CHECK(same({0.1f}, {0}, {.rtol = 0, .atol = 0.2}));
  CHECK(same({nan, infinity, -infinity}, {nan, infinity, -infinity}));
  CHECK(!same({nan}, {1}));
  CHECK(!same({1}, {nan}));
  CHECK(!same({infinity}, {-infinity}));
  CHECK(!same({1e30f}, {infinity}));
}

TEST_CASE("integers agree exactly; types and shapes must be equal") {
  Constant a = Constant::of<int64_t>(dtype::i64, {2}, {1, 2}), b = Constant::of<int64_t>(dtype::i64, {2}, {1, 3});
  CHECK(compare(a, a, {}).ok);
  CHECK(!compare(a, b, {.rtol = 10, .atol = 10}).ok);
  CHECK(compare(a, b, {}).what == "element 1: 2 instead of 3");
  CHECK(!compare(a, a.reshaped({1, 2}), {}).ok);
  CHECK(!compare(a, Constant::of<int32_t>(dtype::i32, {2}, {1, 2}), {}).ok);
}

TEST_CASE("the engine of definitions runs a program that cannot be compiled to native code") {
  const std::string text = R"(
def @main(%n: int64) -> int64 {
  let %loop = fn (%i: int64, %sum: int64) -> int64 {
    let %more = %i < %n;
    if (%more) { %loop(%i + 1i64, %sum + %i) } else { %sum }
  };
  %loop(0i64, 0i64)
}
)";
  const auto raw = std::as_bytes(std::span(text));
  Diagnostics diagnostics;
  CompileOptions options{.model = "loop.rly"};
  options.model_bytes = std::make_shared<const std::vector<std::byte>>(raw.begin(), raw.end());
  Compiler compiler(options, diagnostics);
  const std::vector<std::string> engines = {"definitions"};
  auto model = prepare_verification(compiler, engines);
  REQUIRE_MESSAGE(model, diagnostics.str());
  CHECK(!model->planned);
  CHECK(model->interface.inputs[0].name == "n");
  auto got = make_engine("definitions", compiler, *model)({Constant::of<int64_t>(dtype::i64, {}, {5})}, diagnostics);
  REQUIRE_MESSAGE(got, diagnostics.str());
  CHECK(got->at(0).integer_at(0) == 10);
}
