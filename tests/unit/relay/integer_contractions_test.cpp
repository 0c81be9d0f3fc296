// Integer contractions against the standard's arithmetic, which is that of the module before the pass.
#include <doctest/doctest.h>

#include "frontends/frontend.h"
#include "relay/evaluate.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"

namespace dlcc::relay {
namespace {

// Pseudo-random bytes, of either type.
Constant bytes(DType type, std::vector<int64_t> shape, uint32_t seed) {
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  std::vector<uint8_t> values;
  for (int64_t k = 0; k < count; ++k)
    values.push_back(static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24));
  if (type == dtype::u8) return Constant::of(type, shape, values);
  return Constant::of(type, shape, std::vector<int8_t>(values.begin(), values.end()));
}

Constant scales(int64_t count) {
  std::vector<float> values;
  for (int64_t k = 0; k < count; ++k) values.push_back(0.0021F + 0.00013F * static_cast<float>(k * k % 17));
  return Constant::of(dtype::f32, {count}, values);
}

struct Difference {
  int64_t largest = 0, elements = 0, all = 0;
};

// The difference of the quantized results before and after the pass, for data of a type; %w and %t are constants.
Difference difference(const std::string& body, const Constant& x, const Constant& w, const Constant& t,
                      tensor::ByteProducts products, bool is_changed = true) {
  auto type = [](const Constant& c) { return str(tensor_type(c.shape(), c.dtype())); };
  const std::string text = fmt::format("def @main(%x: {}, %w: {}, %t: {}) {{ {} }}", type(x), type(w), type(t), body);
  Diagnostics d;
  auto module = frontends::import_relay(text, {}, d);
  REQUIRE_MESSAGE(module, d.str());
  Function& main = module->functions.at("main");
  Replacements known;
  known.add(main.params[1], w), known.add(main.params[2], t);
  for (Binding& b : main.body.bindings) known.apply(b.op);
  const std::vector<Constant> args = {x, w, t};
  auto before = evaluate(*module, args, tensor::Precision::specified, d);
  PassContext context{.diagnostics = &d, .machine = {.byte_products = products}};
  Module changed = integer_contractions(*module, context);
  CHECK((print(changed, false).find("out_dtype=") != std::string::npos) == is_changed);
  auto after = evaluate(changed, args, tensor::Precision::specified, d);
  REQUIRE_MESSAGE((before && after), d.str());
  Difference found;
  for (int64_t k = 0; k < before->results[0].count(); ++k, ++found.all) {
    const int64_t difference = std::abs(before->results[0].integer_at(k) - after->results[0].integer_at(k));
    found.largest = std::max(found.largest, difference);
    found.elements += difference > 0;
  }
  return found;
}

// The type of the data of a network, and how a machine multiplies bytes.
const std::pair<DType, tensor::ByteProducts> data_and_products[] = {
    {dtype::u8, tensor::ByteProducts::dot},          {dtype::i8, tensor::ByteProducts::dot},
    {dtype::u8, tensor::ByteProducts::signed_dot},   {dtype::i8, tensor::ByteProducts::signed_dot},
    {dtype::u8, tensor::ByteProducts::scalar_pairs}, {dtype::i8, tensor::ByteProducts::scalar_dot}};

}  // namespace

TEST_CASE("integer contractions differ from the standard by 1 in fewer than one of 1000 elements") {
  const std::string input = "qnn.dequantize(%x, 0.0173f, cast({}, dtype=\"{}\"))",
                    signed_weights = "qnn.dequantize(%w, %t, cast(0, dtype=\"int8\"), axis={})",
                    output = "qnn.quantize({}, 0.0713f, cast({}, dtype=\"{}\"))";
  int64_t elements = 0, all = 0;
  for (const auto& [type, products] : data_and_products)
    for (int zero : {0, 11}) {
      std::string weights = signed_weights;
      const std::string stored(name(type)), x = fmt::format(fmt::runtime(input), zero, stored);
      auto check = [&](const std::string& call, const Constant& data, const Constant& w, int64_t channels, int axis) {
        CAPTURE(call);
        CAPTURE(stored);
        const std::string sums = fmt::format(fmt::runtime(call), x, fmt::format(fmt::runtime(weights), axis));
        const Difference d = difference(fmt::format(fmt::runtime(output), sums, 100 + zero, stored), data, w,
                                        scales(channels), products);
        CHECK(d.largest <= 1);
        elements += d.elements, all += d.all;
      };
      check("nn.conv2d({}, {}, padding=[1, 1, 1, 1])", bytes(type, {1, 16, 9, 9}, 1),
            bytes(dtype::i8, {32, 16, 3, 3}, 2), 32, 0);
      check("nn.conv2d({}, {}, padding=[1, 1, 1, 1], strides=[2, 2])", bytes(type, {2, 3, 17, 16}, 3),
            bytes(dtype::i8, {16, 3, 3, 3}, 4), 16, 0);
      check("nn.conv2d({}, {}, padding=[1, 1, 1, 1], groups=24)", bytes(type, {1, 24, 9, 8}, 5),
            bytes(dtype::i8, {24, 1, 3, 3}, 6), 24, 0);
      check("nn.conv2d({}, {}, groups=2)", bytes(type, {1, 32, 9, 8}, 7), bytes(dtype::i8, {32, 16, 1, 1}, 8), 32, 0);
      check("nn.dense({}, {})", bytes(type, {37, 64}, 9), bytes(dtype::i8, {40, 64}, 10), 40, 0);
      check("nn.matmul({}, {})", bytes(type, {2, 19, 64}, 11), bytes(dtype::i8, {64, 40}, 12), 40, 1);
      // Weights of uint8: minus their zero point they are signed bytes, or have an offset.
      for (int weight_zero : {128, 117}) {
        weights = fmt::format("qnn.dequantize(%w, %t, cast({}, dtype=\"uint8\"), axis={{}})", weight_zero);
        check("nn.conv2d({}, {}, padding=[1, 1, 1, 1])", bytes(type, {1, 16, 9, 9}, 1),
              bytes(dtype::u8, {32, 16, 3, 3}, 2), 32, 0);
        check("nn.matmul({}, {})", bytes(type, {2, 19, 64}, 11), bytes(dtype::u8, {64, 40}, 12), 40, 1);
        check("nn.conv2d({}, {}, padding=[1, 1, 1, 1], groups=24)", bytes(type, {1, 24, 9, 8}, 5),
              bytes(dtype::u8, {24, 1, 3, 3}, 6), 24, 0);
      }
    }
  CHECK(all > 60000);
  CHECK(1000 * elements < all);
}

TEST_CASE("sums that may not fit in int32 stay sums of floats") {
  auto result = [](int64_t k, int weight_zero) {
    const std::string w = fmt::format("qnn.dequantize(%w, 0.5f, cast({}, dtype=\"uint8\"))", weight_zero);
    const std::string text = fmt::format(
        "def @main(%x: Tensor[(1, {0}), uint8], %w: Tensor[(1, {0}), uint8]) {{"
        "  nn.dense(qnn.dequantize(%x, 0.5f, cast(0, dtype=\"uint8\")), {1}) }}",
        k, w);
    Diagnostics d;
    auto module = frontends::import_relay(text, {}, d);
    REQUIRE_MESSAGE(module, d.str());
    const Constant all = Constant::of(dtype::u8, {1, k}, std::vector<uint8_t>(static_cast<size_t>(k), 255));
    Replacements known;
    known.add(module->functions.at("main").params[1], all);
    for (Binding& b : module->functions.at("main").body.bindings) known.apply(b.op);
    PassContext context{.diagnostics = &d, .machine = {.byte_products = tensor::ByteProducts::dot}};
    const std::vector<Constant> args = {all, all};
    auto after = evaluate(integer_contractions(*module, context), args, tensor::Precision::specified, d);
    REQUIRE_MESSAGE(after, d.str());
    return after->results[0].number_at(0) / (0.25 * 255 * (255 - weight_zero) * static_cast<double>(k));
  };
  CHECK(result(1024, 0) == doctest::Approx(1));
  CHECK(result(40000, 0) == doctest::Approx(1).epsilon(0.01));  // 2.6e9, added in float32
  CHECK(result(40000, 128) == doctest::Approx(1));
  CHECK(result(80000, 128) == doctest::Approx(1).epsilon(0.01));  // added in float32
}

TEST_CASE("contractions of bytes minus zero points keep their integers") {
  // Zero points of the data: constant, and known at run time as a scalar or as a list. Weights minus theirs are signed
  // bytes, or have an offset.
  const std::vector<std::string> zeros = {"0", "11", "cast(max(%x), dtype=\"int32\")",
                                          "reshape(cast(max(%x), dtype=\"int32\"), newshape=[1])"};
  for (const auto& [type, products] : data_and_products)
    for (const auto& [weight_type, weight_zero] :
         {std::pair(dtype::i8, 0), std::pair(dtype::u8, 128), std::pair(dtype::u8, 117), std::pair(dtype::i8, -70)})
      for (const std::string& zero : zeros) {
        auto check = [&](const std::string& call, std::vector<int64_t> data, std::vector<int64_t> shape) {
          CAPTURE(call);
          CAPTURE(weight_zero);
          CAPTURE(zero);
          const std::string x = fmt::format("cast(%x, dtype=\"int32\") - {}", zero),
                            w = fmt::format("cast(%w, dtype=\"int32\") - ({})", weight_zero);
          const Difference d = difference(fmt::format(fmt::runtime(call), x, w), bytes(type, std::move(data), 1),
                                          bytes(weight_type, std::move(shape), 2), scales(1), products);
          CHECK(d.largest == 0);
        };
        check("nn.conv2d({}, {}, padding=[1, 1, 0, 2], strides=[2, 1])", {1, 16, 9, 9}, {32, 16, 3, 3});
        check("nn.conv2d({}, {}, padding=[1, 1, 1, 1])", {2, 3, 8, 7}, {16, 3, 3, 3});
        check("nn.conv1d({}, {}, dilation=[2])", {1, 8, 12}, {8, 8, 3});
        check("nn.conv2d({}, {}, padding=[1, 1, 0, 2], groups=6)", {2, 6, 9, 9}, {12, 1, 3, 3});
        check("nn.conv1d({}, {}, padding=[1, 1], groups=8)", {1, 8, 12}, {8, 1, 3});
        check("nn.dense({}, {})", {5, 64}, {24, 64});
        check("nn.matmul({}, {})", {2, 3, 64}, {64, 24});
      }
}

TEST_CASE("depthwise sums that float32 does not have are exact") {
  // The largest sums are 255 * 127 * 841 and 255 * 255 * 841, more than 2^24.
  for (const auto& [type, products] : data_and_products)
    for (const char* zero : {"127", "0"}) {
      const std::string body = fmt::format(
          "nn.conv2d(cast(%x, dtype=\"int32\"), cast(%w, dtype=\"int32\") - {}, padding=[14, 14, 14, 14], groups=2)",
          zero);
      const Difference d =
          difference(body, bytes(type, {1, 2, 29, 5}, 1), bytes(dtype::u8, {2, 1, 29, 29}, 2), scales(1), products);
      CHECK(d.largest == 0);
    }
}

TEST_CASE("data is not padded with a zero point that may not be a byte") {
  for (const auto& [type, products] : data_and_products)
    for (const std::string zero :
         {"300", "-200", "max(cast(%x, dtype=\"int32\")) * 7", "cast(max(%x), dtype=\"int32\")"})
      for (const char* padding : {"1", "0"}) {
        CAPTURE(zero);
        const bool is_byte = zero.starts_with("cast") || *padding == '0';
        const Difference d = difference(
            fmt::format("nn.conv2d(cast(%x, dtype=\"int32\") - ({}), cast(%w, dtype=\"int32\"), padding=[{}])", zero,
                        padding),
            bytes(type, {1, 16, 5, 6}, 1), bytes(dtype::i8, {16, 16, 3, 3}, 2), scales(1), products, is_byte);
        CHECK(d.largest == 0);
      }
}

}  // namespace dlcc::relay
