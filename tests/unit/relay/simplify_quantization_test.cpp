// The pass simplify-quantization keeps all bits of results.
#include <doctest/doctest.h>

#include "frontends/frontend.h"
#include "relay/evaluate.h"
#include "relay/passes/passes.h"
#include "relay/types_in.h"

namespace dlcc::relay {
namespace {

// The module's text after the pass, which must not change the results.
std::string simplified(const std::string& text, const std::vector<Constant>& inputs) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {}, d);
  REQUIRE_MESSAGE(module, d.str());
  PassContext context{.diagnostics = &d};
  const Module changed = eliminate_dead_code(simplify_quantization(copy_with_own_variables(*module), context), context);
  auto before = evaluate(*module, inputs, tensor::Precision::specified, d),
       after = evaluate(changed, inputs, tensor::Precision::specified, d);
  REQUIRE_MESSAGE((before && after), d.str());
  for (size_t k = 0; k < before->results.size(); ++k) {
    const Constant &x = before->results[k], &y = after->results[k];
    REQUIRE(x.shape() == y.shape());
    for (int64_t i = 0; i < x.count(); ++i) REQUIRE(x.number_at(i) == y.number_at(i));
  }
  return print(changed, false);
}

template <class T>
Constant all_values(DType type) {
  std::vector<T> values;
  for (int64_t k = std::numeric_limits<T>::min(); k <= std::numeric_limits<T>::max(); ++k)
    values.push_back(static_cast<T>(k));
  return Constant::of<T>(type, {static_cast<int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("what is quantized as it was dequantized is the stored data, for all integers of 8 and 16 bits") {
  const std::pair<std::string, Constant> types[] = {{"uint8", all_values<uint8_t>(dtype::u8)},
                                                    {"int8", all_values<int8_t>(dtype::i8)},
                                                    {"uint16", all_values<uint16_t>(dtype::u16)},
                                                    {"int16", all_values<int16_t>(dtype::i16)}};
  for (const auto& [type, values] : types)
    for (const char* scale : {"0.0173f", "1f", "3.1e-38f", "1.2e33f", "0.33333334f", "16777213f"})
      for (const char* zero : {"0", "17", "127"}) {
        const std::string parameters = fmt::format("{}, cast({}, dtype=\"{}\")", scale, zero, type);
        CAPTURE(parameters);
        const std::string text =
            fmt::format("def @main(%x: Tensor[({0}), {1}]) {{ qnn.quantize(qnn.dequantize(%x, {2}), {2}) }}",
                        values.count(), type, parameters);
        CHECK(simplified(text, {values}).find("qnn.") == std::string::npos);
      }
}

TEST_CASE("data is moved as it is stored") {
  std::vector<uint8_t> numbers;
  for (int k = 0; k < 240; ++k) numbers.push_back(static_cast<uint8_t>(k * 37));
  const Constant x = Constant::of<uint8_t>(dtype::u8, {1, 4, 6, 10}, numbers);
  const std::string one = "qnn.dequantize(%x, 0.25f, cast(7, dtype=\"uint8\"))",
                    several = "qnn.dequantize(%x, %s, cast(7, dtype=\"uint8\"), axis=1)";
  auto moves_bytes = [&](const std::string& movement, const std::string& data) {
    const std::string text =
        "def @main(%x: Tensor[(1, 4, 6, 10), uint8]) { let %s = arange(1f, 5f, 1f, dtype=\"float32\"); " +
        fmt::format(fmt::runtime(movement), data) + " }";
    CAPTURE(text);
    const std::string result = simplified(text, {x});
    const size_t at = result.find(movement.substr(0, movement.find('(')) + "(%x");
    return at != std::string::npos && at < result.find("qnn.dequantize");
  };
  for (const char* movement :
       {"reshape({}, newshape=[24, 10])", "transpose({}, axes=[0, 2, 3, 1])", "squeeze({}, axis=[0])",
        "strided_slice({}, begin=[0, 1, 0, 0], end=[1, 3, 6, 10])", "nn.batch_flatten({})", "expand_dims({}, axis=1)",
        "tile({}, reps=[1, 1, 2, 1])", "nn.max_pool2d({}, pool_size=[3, 3], padding=[1, 1, 1, 1])"})
    CHECK(moves_bytes(movement, one));
  CHECK(moves_bytes("transpose({}, axes=[0, 2, 3, 1])", several));
  CHECK(moves_bytes("transpose({})", several));
  CHECK(!moves_bytes("reshape({}, newshape=[24, 10])", several));
  // Windows without an element of the image have the least number of their type as their maximum.
  CHECK(!moves_bytes("nn.max_pool2d({}, pool_size=[1, 1], padding=[1, 1, 1, 1])", one));
}

TEST_CASE("functions of bytes that take long are tables") {
  for (const auto& [type, values] : {std::pair<std::string, Constant>{"uint8", all_values<uint8_t>(dtype::u8)},
                                     {"int8", all_values<int8_t>(dtype::i8)}})
    for (const auto& [function, is_table] :
         {std::pair("%d * (erf(%d * 0.70710677f) + 1f) * 0.5f", true),
          {"tanh(%d)", true},
          {"%d * 0.3f", false},
          {"nn.relu(%d)", false},
          {"reshape(sigmoid(%d), newshape=[16, 16])", true},
          {"exp(%d) + %f", false},
          {"nn.softmax(%d)", false},
          {"exp(concatenate((%d, %d)))", false},
          {"exp(split(%d, indices_or_sections=2).0)", false},
          {"sigmoid(reshape(exp(%d), newshape=[16, 16]))", false},
          {"sigmoid(strided_slice(tile(exp(%d), reps=[2]), begin=[0], end=[256]))", false},
          {"sigmoid(exp(%d) * ones(shape=[1, 1], dtype=\"float32\"))", false}}) {
      CAPTURE(function);
      const std::string text = fmt::format(
          "def @main(%x: Tensor[(256), {0}], %f: Tensor[(256), float32]) {{ "
          "let %d = qnn.dequantize(%x, 0.031f, cast(9, dtype=\"{0}\")); "
          "qnn.quantize({1}, 0.017f, cast(3, dtype=\"{0}\")) }}",
          type, function);
      const Constant other = Constant::of<float>(dtype::f32, {256}, std::vector<float>(256, 0.5F));
      CHECK((simplified(text, {values, other}).find("take(") != std::string::npos) == is_table);
    }
}

}  // namespace dlcc::relay
