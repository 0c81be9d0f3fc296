// Values of a program's parameters that are known when it is compiled.
#include "pipeline/bind_parameters.h"

#include <doctest/doctest.h>

#include "frontends/frontend.h"

using namespace dlcc;

namespace {

Constant floats(std::vector<int64_t> shape) {
  const auto count = static_cast<size_t>(product(shape_of(shape)).value());
  return Constant::of<float>(dtype::f32, std::move(shape), std::vector<float>(count, 1));
}

// The program with the arrays in place of parameters, or the errors.
std::string bound(const std::string& text, const std::vector<NamedArray>& arrays) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {}, d);
  REQUIRE_MESSAGE(module, d.str());
  return bind_parameters(*module, arrays, "p.npz", d) ? relay::print(*module, false) : d.str();
}

}  // namespace

TEST_CASE("arrays take the place of parameters, and give the sizes that their types name") {
  const std::string text = "def @main(%x: Tensor[(m, k), float32], %w: Tensor[(n, k), float32]) { nn.dense(%x, %w) }";
  CHECK(bound(text, {{"w", floats({4, 3})}}) ==
        "#[version = \"0.0.5\"]\n"
        "def @main(%x: Tensor[(m, 3), float32]) -> Tensor[(m, 4), float32] {\n"
        "  nn.dense(%x, meta[relay.Constant][0])\n"
        "}\n// meta data omitted\n");
  CHECK(bound(text, {{"w", floats({4, 3})}, {"x", floats({2, 3})}}).find("def @main() -> Tensor[(2, 4), float32]") !=
        std::string::npos);
}

TEST_CASE("arrays that are no values of parameters are errors") {
  const std::string text = "def @main(%x: Tensor[(m, k), float32], %w: Tensor[(4, k), float32]) { nn.dense(%x, %w) }";
  CHECK(bound(text, {{"v", floats({4, 3})}}).find("@main has no parameter 'v'") != std::string::npos);
  CHECK(bound(text, {{"w", floats({3, 4})}}).find("%w is Tensor[(4, k), float32], the file has Tensor[(3, 4), float32]") !=
        std::string::npos);
  CHECK(bound(text, {{"w", floats({4, 3})}, {"x", floats({2, 4})}}).find("%x is Tensor[(m, 3), float32], the file has") !=
        std::string::npos);
  const Constant integers = Constant::of<int64_t>(dtype::i64, {4, 1}, {1, 2, 3, 4});
  CHECK(bound(text, {{"w", integers}}).find("the file has Tensor[(4, 1), int64]") != std::string::npos);
}
