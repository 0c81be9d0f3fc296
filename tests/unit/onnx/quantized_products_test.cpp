// Operators on quantized tensors, whose products the pass integer_contractions computes on the stored bytes.
#include "evaluated.h"
#include "tensor/machine.h"

using namespace dlcc;
using namespace dlcc::frontends;
using namespace dlcc::frontends::onnx;

namespace {

constexpr int onnx_uint8 = 2, onnx_int8 = 3, onnx_int32 = 6, onnx_float = 1;

std::string initializer(const std::string& name, int type, const std::vector<int64_t>& shape,
                        const std::vector<int>& numbers) {
  return fmt::format("initializer {{ name: '{}' data_type: {} dims: [{}] {}: [{}] }} ", name, type,
                     fmt::join(shape, ", "), type == onnx_float ? "float_data" : "int32_data",
                     fmt::join(numbers, ", "));
}

std::string scalar(const std::string& name, int type, int number) { return initializer(name, type, {}, {number}); }

// Weights of int8 or uint8.
std::string weights(int type, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  std::vector<int> numbers;
  for (int64_t k = 0; k < count; ++k) numbers.push_back(static_cast<int>(k * 37 % 256) - (type == onnx_int8 ? 128 : 0));
  return initializer("w", type, shape, numbers);
}

// The text of the module after the pass; checks that the results of zeros, ones and other data stay the same.
std::string on_bytes(const std::string& graph, const std::vector<int64_t>& shape, bool is_microsoft) {
  const std::string domain = is_microsoft ? "opset_import { domain: 'com.microsoft' version: 1 } " : "";
  const std::string model = "ir_version: 8 opset_import { version: 17 } " + domain + "graph { " + graph;
  Diagnostics d;
  auto module = import_onnx(model_bytes(model + "output { name: 'y' } }"), {.file = "m"}, d);
  REQUIRE_MESSAGE(module, d.str());
  relay::PassContext context{.diagnostics = &d, .machine = {.byte_products = tensor::ByteProducts::dot}};
  const relay::Module changed = relay::integer_contractions(*module, context);
  CHECK_MESSAGE(relay::verify(changed, d), d.str());
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  for (int factor : {0, 1, 83}) {
    std::vector<uint8_t> bytes;
    for (int64_t k = 0; k < count; ++k) bytes.push_back(static_cast<uint8_t>(k * factor % 256));
    const std::vector<Constant> x = {Constant::of<uint8_t>(dtype::u8, shape, bytes)};
    CHECK(results_of(changed, x, d) == results_of(*module, x, d));
  }
  return relay::print(changed, false);
}

}  // namespace

TEST_CASE("the products of quantized operators are computed on bytes") {
  const std::string parameters = scalar("s", onnx_float, 1) + scalar("t", onnx_float, 1) +
                                 scalar("u", onnx_float, 4096) + scalar("zx", onnx_uint8, 7) +
                                 scalar("zy", onnx_uint8, 100);
  const std::vector<std::string> image = {"1", "8", "5", "6"}, matrix = {"3", "8"};
  struct Case {
    std::string op;
    std::vector<std::string> inputs;
    std::string attributes;
  };
  for (const auto& [type, zero] : {std::pair(onnx_int8, 0), {onnx_uint8, 128}, {onnx_uint8, 117}}) {
    const std::string common = parameters + scalar("zw", type, zero);
    const std::string bias = initializer("b", onnx_int32, {4}, {5, -600, 70, 8000});
    const std::vector<std::string> all = {"x", "s", "zx", "w", "t", "zw", "u", "zy", "b"};
    for (const Case& c : {Case{"ConvInteger", {"x", "w", "zx", "zw"}, ints("pads", {1, 0, 2, 1})},
                          Case{"QLinearConv", all, ints("strides", {2, 1})}}) {
      CAPTURE(c.op);
      CAPTURE(zero);
      const std::string graph = value("input", "x", onnx_uint8, image) + common + bias + weights(type, {4, 8, 3, 3}) +
                                node(c.op, c.inputs, {"y"}, c.attributes);
      const std::string text = on_bytes(graph, {1, 8, 5, 6}, false);
      CHECK_MESSAGE(text.find("out_dtype=\"int32\"") != std::string::npos, text);
    }
    const std::string microsoft = "domain: 'com.microsoft' ";
    for (const Case& c : {Case{"MatMulInteger", {"x", "w", "zx", "zw"}, ""},
                          Case{"QLinearMatMul", {"x", "s", "zx", "w", "t", "zw", "u", "zy"}, ""},
                          Case{"QGemm", {"x", "s", "zx", "w", "t", "zw", "b", "u", "zy"}, microsoft},
                          Case{"MatMulIntegerToFloat", {"x", "w", "s", "t", "zx", "zw"}, microsoft}}) {
      CAPTURE(c.op);
      CAPTURE(zero);
      const std::string graph = value("input", "x", onnx_uint8, matrix) + common + bias + weights(type, {8, 4}) +
                                node(c.op, c.inputs, {"y"}, c.attributes);
      const std::string text = on_bytes(graph, {3, 8}, !c.attributes.empty());
      CHECK_MESSAGE(text.find("out_dtype=\"int32\"") != std::string::npos, text);
    }
  }
}
