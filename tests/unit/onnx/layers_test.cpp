// Results of operators that the importer composes of several Relay operators.
#include "evaluated.h"
#include "support/float_formats.h"

using namespace dlcc;
using namespace dlcc::frontends::onnx;

namespace {

std::vector<std::string> dims_of(const Constant& c) {
  std::vector<std::string> dims;
  for (int64_t d : c.shape()) dims.push_back(std::to_string(d));
  return dims;
}

// The results of a model of one node, whose inputs are all given at run time; those without elements are left out.
std::string result_of(const std::string& op, const std::vector<Constant>& args, const std::string& attributes = "",
                      int outputs = 1, const std::string& initializers = "", std::vector<std::string> more = {},
                      int opset = 27) {
  std::string graph = initializers;
  std::vector<std::string> inputs, results;
  for (size_t k = 0; k < args.size(); ++k) {
    inputs.push_back(fmt::format("x{}", k));
    graph += value("input", inputs.back(), onnx_number(args[k].dtype()), dims_of(args[k]));
  }
  inputs.insert(inputs.end(), more.begin(), more.end());
  for (int k = 0; k < outputs; ++k) {
    results.push_back(fmt::format("y{}", k));
    graph += fmt::format("output {{ name: 'y{}' }} ", k);
  }
  return evaluated(graph_bytes(graph + node(op, inputs, results, attributes), opset), args);
}

Constant bytes_of(std::vector<int64_t> shape, const std::vector<uint8_t>& values) {
  return Constant::of<uint8_t>(dtype::u8, std::move(shape), values);
}

}  // namespace

TEST_CASE("Trilu of diagonals beyond the matrix, and OneHot of a negative depth") {
  const Constant x = floats({2, 2}, {1, 2, 3, 4});
  auto far = [](int64_t k) { return Constant::of<int64_t>(dtype::i64, {}, {k}); };
  CHECK(result_of("Trilu", {x, far(INT64_MAX)}) == "(2, 2): 0 0 0 0");
  CHECK(result_of("Trilu", {x, far(INT64_MAX)}, integer("upper", 0)) == "(2, 2): 1 2 3 4");
  CHECK(result_of("Trilu", {x, far(INT64_MIN)}) == "(2, 2): 1 2 3 4");
  const std::string depth =
      "initializer { name: 'd' data_type: 7 int64_data: -1 } "
      "initializer { name: 'v' data_type: 1 dims: 2 float_data: [0, 1] } ";
  CHECK(imported(graph_bytes(value("input", "x", 7, {"3"}) + depth + node("OneHot", {"x", "d", "v"}, {"y"}) +
                             "output { name: 'y' } "))
            .starts_with("errors:"));
}

TEST_CASE("ConvTranspose spreads each element over the taps of its window") {
  const Constant x = floats({1, 1, 3}, {1, 2, 3}), w = floats({1, 1, 3}, {1, 10, 100});
  auto y = [&](const std::string& attributes) { return result_of("ConvTranspose", {x, w}, attributes); };
  CHECK(y("") == "(1, 1, 5): 1 12 123 230 300");
  CHECK(y(ints("strides", {2})) == "(1, 1, 7): 1 10 102 20 203 30 300");
  CHECK(y(ints("strides", {2}) + ints("pads", {1, 2})) == "(1, 1, 4): 10 102 20 203");
  CHECK(y(ints("strides", {2}) + ints("output_padding", {1})) == "(1, 1, 8): 1 10 102 20 203 30 300 0");
  CHECK(y(ints("strides", {2}) + ints("output_shape", {6})) == "(1, 1, 6): 10 102 20 203 30 300");
  CHECK(y(ints("strides", {2}) + text("auto_pad", "SAME_UPPER")) == "(1, 1, 6): 1 10 102 20 203 30");
  CHECK(y(ints("dilations", {2})) == "(1, 1, 7): 1 2 13 20 130 200 300");
  CHECK(y(ints("strides", {2}) + ints("dilations", {3})) == "(1, 1, 11): 1 0 2 10 3 20 100 30 200 0 300");
  CHECK(y(ints("strides", {4})) == "(1, 1, 11): 1 10 100 0 2 20 200 0 3 30 300");
  CHECK(y(ints("pads", {4, 4})).find("would have -3 elements") != std::string::npos);
}

TEST_CASE("ConvTranspose with groups and a bias") {
  const Constant x = floats({1, 2, 2}, {1, 2, 3, 4}), w = floats({2, 2, 1}, {1, 10, 100, 1000});
  CHECK(result_of("ConvTranspose", {x, w, floats({4}, {0, 0, 0.5, 0})}, integer("group", 2)) ==
        "(1, 4, 2): 1 2 10 20 300.5 400.5 3000 4000");
}

TEST_CASE("ConvTranspose of many channels has a convolution for each phase") {
  struct Axis {
    int64_t in, taps, stride, dilation, before, after;
    int64_t out() const { return stride * (in - 1) + (taps - 1) * dilation + 1 - before - after; }
  };
  auto check = [](const Axis& v, const Axis& h, int64_t groups) {
    const int64_t inputs = 32 * groups, of_group = 32, outputs = of_group * groups;
    auto small = [](int64_t k) { return static_cast<float>(k * 7 % 5 - 2); };
    std::vector<float> x, w, bias, y;
    for (int64_t k = 0; k < inputs * v.in * h.in; ++k) x.push_back(small(k * k + 1));
    for (int64_t k = 0; k < inputs * of_group * v.taps * h.taps; ++k) w.push_back(small(k / 3 + k));
    for (int64_t o = 0; o < outputs; ++o) bias.push_back(small(o));
    for (int64_t o = 0; o < outputs; ++o)
      y.insert(y.end(), static_cast<size_t>(v.out() * h.out()), bias[static_cast<size_t>(o)]);
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t o = 0; o < of_group; ++o)
        for (int64_t tap = 0; tap < v.taps * h.taps; ++tap)
          for (int64_t pixel = 0; pixel < v.in * h.in; ++pixel) {
            const int64_t row = pixel / h.in * v.stride + tap / h.taps * v.dilation - v.before,
                          column = pixel % h.in * h.stride + tap % h.taps * h.dilation - h.before;
            if (row < 0 || row >= v.out() || column < 0 || column >= h.out()) continue;
            const int64_t channel = i / (inputs / groups) * of_group + o;
            y[static_cast<size_t>((channel * v.out() + row) * h.out() + column)] +=
                x[static_cast<size_t>(i * v.in * h.in + pixel)] *
                w[static_cast<size_t>((i * of_group + o) * v.taps * h.taps + tap)];
          }
    const std::string attributes = ints("strides", {v.stride, h.stride}) + ints("dilations", {v.dilation, h.dilation}) +
                                   ints("pads", {v.before, h.before, v.after, h.after}) + integer("group", groups);
    std::string expected = fmt::format("(1, {}, {}, {}):", outputs, v.out(), h.out());
    for (float element : y) expected += fmt::format(" {}", element);
    CHECK(result_of("ConvTranspose",
                    {floats({1, inputs, v.in, h.in}, x), floats({inputs, of_group, v.taps, h.taps}, w),
                     floats({outputs}, bias)},
                    attributes) == expected);
  };
  check({3, 3, 2, 1, 0, 0}, {4, 3, 2, 1, 1, 1}, 1);
  check({3, 5, 2, 1, 2, 1}, {2, 4, 3, 1, 0, 2}, 1);
  check({2, 3, 2, 2, 1, 0}, {3, 3, 1, 2, 2, 2}, 1);
  check({3, 3, 2, 1, 1, 0}, {2, 1, 1, 1, 0, 0}, 2);
  check({2, 7, 4, 1, 3, 5}, {2, 3, 2, 1, 0, 1}, 1);
}

TEST_CASE("DepthToSpace and SpaceToDepth move blocks of pixels") {
  const Constant x = floats({1, 4, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(result_of("DepthToSpace", {x}, integer("blocksize", 2)) == "(1, 1, 2, 4): 0 2 1 3 4 6 5 7");
  CHECK(result_of("SpaceToDepth", {floats({1, 1, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7})}, integer("blocksize", 2)) ==
        "(1, 4, 1, 2): 0 1 2 3 4 5 6 7");
  const Constant two = floats({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(result_of("DepthToSpace", {two}, integer("blocksize", 2) + text("mode", "CRD")) ==
        "(1, 2, 2, 2): 0 1 2 3 4 5 6 7");
  CHECK(result_of("DepthToSpace", {two}, integer("blocksize", 2)) == "(1, 2, 2, 2): 0 2 4 6 1 3 5 7");
}

TEST_CASE("SpaceToDepth of operator set 28 has the pixels of a block before or after the channels") {
  const Constant two = floats({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  auto y = [&](const std::string& mode) {
    return result_of("SpaceToDepth", {two}, integer("blocksize", 2) + mode, 1, "", {}, 28);
  };
  CHECK(y("") == "(1, 8, 1, 1): 0 4 1 5 2 6 3 7");
  CHECK(y(text("mode", "DCR")) == "(1, 8, 1, 1): 0 4 1 5 2 6 3 7");
  CHECK(y(text("mode", "CRD")) == "(1, 8, 1, 1): 0 1 2 3 4 5 6 7");
}

TEST_CASE("BatchNormalization of a list normalizes one channel") {
  const Constant x = floats({3}, {1, 2, 3}), scale = floats({1}, {2}), shift = floats({1}, {1}),
                 mean = floats({1}, {0.5}), variance = floats({1}, {4});
  const std::vector<Constant> args = {x, scale, shift, mean, variance};
  CHECK(result_of("BatchNormalization", args) == "(3): 1.5 2.5 3.5");
  CHECK(result_of("BatchNormalization", args, integer("training_mode", 1), 3) ==
        "(3): -1.449 1 3.449\n(1): 0.65\n(1): 3.667");
}

TEST_CASE("Unique of no elements has empty results") {
  CHECK(result_of("Unique", {floats({0}, {})}, "", 4) == "(0):\n(0):\n(0):\n(0):");
  CHECK(result_of("Unique", {floats({2, 0}, {})}, integer("axis", 1), 2) == "(2, 0):\n(0):");
}

TEST_CASE("Pow does not round a wider exponent to the type of the base") {
  auto half = [](float v) { return Constant::of<uint16_t>(dtype::f16, {1}, {float_to_half(v)}); };
  const Constant brain = Constant::of<uint16_t>(dtype::bf16, {1}, {float_to_bfloat16(-1)});
  auto real = [](double v) { return Constant::of<double>(dtype::f64, {1}, {v}); };
  CHECK(result_of("Pow", {half(-1), floats({1}, {2049})}) == "(1): -1");
  CHECK(result_of("Pow", {half(1.5), floats({1}, {3})}) == "(1): 3.375");
  CHECK(result_of("Pow", {brain, integers({1}, {257})}) == "(1): -1");
  CHECK(result_of("Pow", {floats({1}, {-1}), integers({1}, {16777217})}) == "(1): -1");
  CHECK(result_of("Pow", {floats({1}, {-1}), real(16777217)}) == "(1): -1");
  CHECK(result_of("Pow", {real(-1), integers({1}, {16777217})}) == "(1): -1");
  CHECK(result_of("Pow", {half(-1)}, "", 1, list("e", {2049}), {"e"}) == "(1): -1");
  // A constant that the type of the base has leaves a multiplication.
  CHECK(ImportedNode{"Pow", 15, {"x", "e"}, "", "initializer { name: 'e' data_type: 7 int64_data: 3 } "}.result() ==
        "  power(%x, 3f)\n");
}

TEST_CASE("Gemm of integers adds fractions before it rounds") {
  auto whole = [](std::vector<int64_t> shape, const std::vector<int32_t>& v) {
    return Constant::of<int32_t>(dtype::i32, std::move(shape), v);
  };
  const Constant a = whole({1, 2}, {1, 2}), b = whole({2, 1}, {1, 1}), c = whole({1}, {3});
  CHECK(result_of("Gemm", {a, b, c}, number("alpha", 0.5) + number("beta", 0.5)) == "(1, 1): 3");
  CHECK(result_of("Gemm", {a, b, c}, number("beta", 1.5)) == "(1, 1): 7");
  CHECK(result_of("Gemm", {a, b}, number("alpha", -1.5)) == "(1, 1): -4");
  CHECK(result_of("Gemm", {a, b, c}, number("alpha", 2) + number("beta", 3)) == "(1, 1): 15");
}

TEST_CASE("SkipLayerNormalization and EmbedLayerNormalization of float16 round their results only") {
  // In float16 2048 + 1 is 2048.
  auto halves = [](std::vector<int64_t> shape, const std::vector<float>& v) {
    std::vector<uint16_t> bits;
    for (float x : v) bits.push_back(float_to_half(x));
    return Constant::of(dtype::f16, std::move(shape), bits);
  };
  auto y = [](const std::string& op, const std::vector<std::string>& inputs, const std::vector<Constant>& args) {
    std::string graph = "output { name: 'y' } " + node(op, inputs, {"y"}, "domain: 'com.microsoft' ");
    size_t k = 0;
    for (const std::string& input : inputs)
      if (!input.empty()) {
        graph += value("input", input, onnx_number(args[k].dtype()), dims_of(args[k]));
        ++k;
      }
    return evaluated(model_bytes("ir_version: 8 opset_import { version: 17 } opset_import { domain: 'com.microsoft' "
                                 "version: 1 } graph { " +
                                 graph + "}"),
                     args);
  };
  const Constant large = halves({1, 2}, {2048, 2048}), small = halves({1, 2}, {1, 0}), scale = halves({2}, {1, 1});
  CHECK(y("SkipLayerNormalization", {"x", "s", "g"}, {large, small, scale}) == "(1, 2): 1 -1");
  CHECK(y("SkipSimplifiedLayerNormalization", {"x", "s", "g"}, {large, small, scale}) == "(1, 2): 1 1");
  const Constant id = Constant::of<int32_t>(dtype::i32, {1, 1}, {0}), shift = halves({2}, {0, 0});
  CHECK(y("EmbedLayerNormalization", {"i", "", "w", "p", "", "g", "b"}, {id, large, small, scale, shift}) ==
        "(1, 1, 2): 1 -1");
}

TEST_CASE("a block of quantization may be longer than the axis") {
  const std::string blocks = integer("axis", 1) + integer("block_size", INT64_MAX);
  CHECK(result_of("QuantizeLinear", {floats({1, 4}, {1, 2, 3, 4}), floats({1, 1}, {0.5})}, blocks) ==
        "(1, 4): 2 4 6 8");
  CHECK(result_of("DequantizeLinear", {bytes_of({1, 4}, {1, 2, 3, 4}), floats({1, 1}, {0.5})}, blocks) ==
        "(1, 4): 0.5 1 1.5 2");
}

TEST_CASE("DeformConv refuses numbers of offset groups that do not divide the channels") {
  const std::string x = value("input", "x", 1, {"1", "2", "3", "3"}), w = value("input", "w", 1, {"1", "2", "2", "2"}),
                    offset = value("input", "o", 1, {"1", "8", "2", "2"}),
                    mask = value("input", "m", 1, {"1", "4", "2", "2"});
  auto says = [&](int64_t groups, const std::vector<std::string>& more, const char* message) {
    std::vector<std::string> inputs = {"x", "w", "o"};
    inputs.insert(inputs.end(), more.begin(), more.end());
    const std::string text = body(graph_bytes(x + w + offset + mask + "output { name: 'y' } " +
                                                  node("DeformConv", inputs, {"y"}, integer("offset_group", groups)),
                                              19));
    CAPTURE(text);
    return text.find(message) != std::string::npos;
  };
  CHECK(says(int64_t{1} << 62, {}, "offset_group is 4611686018427387904"));
  CHECK(says(int64_t{1} << 60, {"", "m"}, "2 channels cannot be divided into 1152921504606846976 deformable"));
  CHECK(says(3, {}, "2 channels cannot be divided into 3 deformable"));
  CHECK(says(0, {}, "offset_group is 0"));
}

TEST_CASE("CenterCropPad crops and pads at both ends") {
  const std::string sizes = "initializer { name: 's' data_type: 7 dims: 2 int64_data: [3, 2] } ";
  CHECK(result_of("CenterCropPad", {floats({1, 5}, {1, 2, 3, 4, 5})}, "", 1, sizes, {"s"}) == "(3, 2): 0 0 2 3 0 0");
}

TEST_CASE("Resize keeps the aspect ratio") {
  const std::string sizes = "initializer { name: 's' data_type: 7 dims: 2 int64_data: [4, 6] } ";
  const Constant x = floats({2, 2}, {1, 2, 3, 4});
  auto shape = [&](const char* policy) {
    const std::string y = result_of("Resize", {x}, text("keep_aspect_ratio_policy", policy), 1, sizes, {"", "", "s"});
    return y.substr(0, y.find(':'));
  };
  CHECK(shape("not_larger") == "(4, 4)");
  CHECK(shape("not_smaller") == "(6, 6)");
  CHECK(shape("stretch") == "(4, 6)");
}

TEST_CASE("Resize with sizes of a run leaves axes that keep their size") {
  const std::string mode = text("mode", "linear") + text("coordinate_transformation_mode", "tf_half_pixel_for_nn");
  const std::string graph = value("input", "x", 1, {"2", "2"}) + value("input", "z", 7, {"2"}) +
                            node("Resize", {"x", "", "", "z"}, {"y"}, mode) + "output { name: 'y' } ";
  CHECK(evaluated(graph_bytes(graph, 13), {floats({2, 2}, {0, 10, 20, 30}), integers({2}, {2, 4})}) ==
        "(2, 4): 2.5 7.5 10 10 22.5 27.5 30 30");
}

TEST_CASE("antialias with scales of a run needs the sizes of the data") {
  const std::string x = value("input", "x", 1, {"n", "4"}), scales = value("input", "s", 1, {"2"});
  CHECK(body(graph_bytes(x + scales + "output { name: 'y' } " +
                             node("Resize", {"x", "", "s"}, {"y"}, text("mode", "linear") + integer("antialias", 1)),
                         19))
            .find("antialias needs known sizes along axis 0") != std::string::npos);
}

TEST_CASE("antialiased integers are rounded") {
  const std::string graph =
      value("input", "x", 2, {"4"}) + "initializer { name: 's' dims: 1 data_type: 7 int64_data: 2 } " +
      node("Resize", {"x", "", "", "s"}, {"y"}, text("mode", "linear") + integer("antialias", 1)) +
      value("output", "y", 2, {"2"});
  // 6.375 and 25.625 in float32
  const Constant x = Constant::of<uint8_t>(dtype::u8, {4}, {0, 10, 21, 33});
  CHECK(evaluated(graph_bytes(graph, 19), {x}) == "(2): 6 26");
}

TEST_CASE("Einsum multiplies its inputs two by two") {
  const Constant a = floats({2, 2}, {1, 2, 3, 4}), b = floats({2, 2}, {1, 10, 100, 1000}), v = floats({2}, {1, -1});
  auto y = [](const char* equation, const std::vector<Constant>& args) {
    return result_of("Einsum", args, text("equation", equation));
  };
  CHECK(y("ij,jk->ik", {a, b}) == "(2, 2): 201 2010 403 4030");
  CHECK(y("ij,jk", {a, b}) == "(2, 2): 201 2010 403 4030");
  CHECK(y("ij,ij->", {a, b}) == "(): 4321");
  CHECK(y("i,ij,j->", {v, a, v}) == "(): 0");
  CHECK(y("ii->i", {a}) == "(2): 1 4");
  CHECK(y("...i,i->...", {a, v}) == "(2): -1 -1");
  CHECK(y("ij,kj->ik", {floats({1, 1}, {2}), a}) == "(1, 2): 6 14");
  CHECK(y("ij,jk->il", {a, b}).find("the label 'l' of the result must occur once") != std::string::npos);
}

TEST_CASE("MatMulInteger, QLinearMatMul and DynamicQuantizeLinear") {
  const Constant a = bytes_of({1, 2}, {12, 8}), b = bytes_of({2, 1}, {3, 5}), ten = bytes_of({}, {10});
  const Constant four = bytes_of({}, {4}), scale = floats({}, {0.5});
  CHECK(result_of("MatMulInteger", {a, b, ten, four}) == "(1, 1): -4");
  CHECK(result_of("QLinearMatMul", {a, scale, ten, b, scale, four, scale, ten}) == "(1, 1): 8");
  CHECK(result_of("DynamicQuantizeLinear", {floats({3}, {-1, 0, 1.55})}, "", 3) == "(3): 0 100 255\n(): 0.01\n(): 100");
}

TEST_CASE("Attention with masks; a query without any key gives zeros") {
  const Constant q = floats({1, 1, 2, 1}, {0, 0}), v = floats({1, 1, 2, 1}, {1, 3});
  CHECK(result_of("Attention", {q, q, v}) == "(1, 1, 2, 1): 2 2");
  CHECK(result_of("Attention", {q, q, v}, integer("is_causal", 1)) == "(1, 1, 2, 1): 1 2");
  const Constant mask = Constant::of<uint8_t>(dtype::boolean, {2, 2}, {0, 1, 0, 0});
  CHECK(result_of("Attention", {q, q, v, mask}) == "(1, 1, 2, 1): 3 0");
  // Two query heads share the only key head; the first key is of an earlier call.
  const Constant heads = floats({1, 2, 1, 1}, {0, 0}), now = floats({1, 1, 1, 1}, {5}),
                 past = floats({1, 1, 1, 1}, {1});
  CHECK(result_of("Attention", {heads, floats({1, 1, 1, 1}, {0}), now}, "", 1, "", {}) == "(1, 2, 1, 1): 5 5");
  const std::string with_past = node("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "k2", "v2"});
  std::string graph = with_past + "output { name: 'y' } output { name: 'v2' } ";
  for (const char* name : {"k", "v", "pk", "pv"}) graph += value("input", name, 1, {"1", "1", "1", "1"});
  graph = value("input", "q", 1, {"1", "2", "1", "1"}) + graph;
  CHECK(evaluated(graph_bytes(graph, 24), {heads, past, now, past, past}) == "(1, 2, 1, 1): 3 3\n(1, 1, 2, 1): 1 5");
}

TEST_CASE("RotaryEmbedding rotates pairs of halves or of neighbours") {
  const Constant x = floats({1, 1, 1, 4}, {1, 2, 3, 4}), cosine = floats({1, 1, 2}, {0, 1}),
                 sine = floats({1, 1, 2}, {1, 0});
  CHECK(result_of("RotaryEmbedding", {x, cosine, sine}) == "(1, 1, 1, 4): -3 2 1 4");
  CHECK(result_of("RotaryEmbedding", {x, cosine, sine}, integer("interleaved", 1)) == "(1, 1, 1, 4): -2 1 3 4");
}

TEST_CASE("LinearAttention keeps a state from step to step") {
  const std::string heads = integer("q_num_heads", 1) + integer("kv_num_heads", 1) + number("scale", 1.0f);
  const Constant x = floats({1, 2, 1}, {1, 2});
  CHECK(result_of("LinearAttention", {x, x, x}, heads + text("update_rule", "linear"), 2) ==
        "(1, 2, 1): 1 10\n(1, 1, 1, 1): 5");
  const std::string inputs = value("input", "x", 1, {"1", "2", "1"}) + value("input", "d", 1, {"1", "2"});
  const std::string gated =
      node("LinearAttention", {"x", "x", "x", "", "d"}, {"y"}, heads + text("update_rule", "gated"));
  CHECK(
      imported(graph_bytes(inputs + gated + "output { name: 'y' } ", 27), {}).find("decay must have 3 axes, found 2") !=
      std::string::npos);
}

TEST_CASE("CausalConvWithState of no elements keeps its state") {
  const Constant x = floats({1, 1, 0}, {}), w = floats({1, 1, 3}, {1, 10, 100}), past = floats({1, 1, 2}, {5, 7});
  auto y = [](const std::vector<Constant>& args, const std::vector<std::string>& more = {}) {
    return result_of("CausalConvWithState", args, "", 2, more.empty() ? "" : value("input", "p", 1, {"1", "1", "2"}),
                     more);
  };
  CHECK(y({x, w}) == "(1, 1, 0):\n(1, 1, 2): 0 0");
  const std::string symbolic = value("input", "x", 1, {"1", "1", "n"}) + value("input", "w", 1, {"1", "1", "3"}) +
                               value("input", "p", 1, {"1", "1", "2"}) +
                               node("CausalConvWithState", {"x", "w", "", "p"}, {"y", "s"}) +
                               "output { name: 'y' } output { name: 's' } ";
  dlcc::frontends::ImportOptions options;
  options.dims["n"].low = 0;
  CHECK(evaluated(graph_bytes(symbolic, 27), {x, w, past}, options) == "(1, 1, 0):\n(1, 1, 2): 5 7");
  CHECK(evaluated(graph_bytes(symbolic, 27), {floats({1, 1, 2}, {1, 2}), w, past}, options) ==
        "(1, 1, 2): 175 217\n(1, 1, 2): 1 2");
}

TEST_CASE("OneHot counts negative indices from the end since operator set 11") {
  const Constant indices = integers({3}, {-1, 1, 3}), depth = integers({}, {3}), values = floats({2}, {0, 1});
  auto y = [&](int opset) { return result_of("OneHot", {indices, depth, values}, "", 1, "", {}, opset); };
  CHECK(y(11) == "(3, 3): 0 0 1 0 1 0 0 0 0");
  CHECK(y(10) == "(3, 3): 0 0 0 0 1 0 0 0 0");
}

TEST_CASE("Erf of integers is truncated, and 1 where its float64 is") {
  CHECK(result_of("Erf", {integers({6}, {-7, -6, -1, 0, 5, 6})}) == "(6): -1 -1 0 0 0 1");
}

TEST_CASE("the length of a DFT or STFT that is an input needs a fixed value") {
  constexpr int f32 = 1, i64 = 7;
  const std::string number = value("input", "k", i64, {}), result = "output { name: 'y' } ";
  const std::string one_sided =
      value("input", "x", f32, {"1", "4", "1"}) + number + node("DFT", {"x", "", "k"}, {"y"}, integer("onesided", 1));
  const std::string frames = value("input", "x", f32, {"1", "8", "1"}) + number +
                             node("STFT", {"x", "k", "", "k"}, {"y"}, integer("onesided", 0));
  CHECK(imported(graph_bytes(one_sided + result, 20), {}).find("--input NAME=value:1") != std::string::npos);
  frontends::ImportOptions options;
  options.find_input_form = [](const frontends::UnknownInput& input) -> std::optional<frontends::InputForm> {
    if (input.name != "k") return std::nullopt;
    return frontends::FixedInput{Constant::of<int64_t>(dtype::i64, {}, {1})};
  };
  CHECK(imported(graph_bytes(one_sided + result, 20), options).find("-> Tensor[(1, 3, 2), float32]") !=
        std::string::npos);
  CHECK(imported(graph_bytes(frames + result, 20), options).find("-> Tensor[(1, 8, 1, 2), float32]") !=
        std::string::npos);
}

TEST_CASE("the number of samples of an STFT may be symbolic") {
  const std::string lengths =
      "initializer { name: 'step' data_type: 7 int64_data: 3 } "
      "initializer { name: 'length' data_type: 7 int64_data: 8 } ";
  const std::string graph = value("input", "x", 1, {"b", "s", "1"}) + lengths +
                            node("STFT", {"x", "step", "", "length"}, {"y"}, integer("onesided", 1));
  CHECK(imported(graph_bytes(graph + "output { name: 'y' } ", 17), {})
            .find("-> Tensor[(b, floor_div(s + 1, 3) - 2, 5, 2), float32]") != std::string::npos);
}

TEST_CASE("DFT and its inverse, of lengths below and above the direct algorithm's limit") {
  const Constant x = floats({1, 4, 1}, {1, 2, 3, 4});
  CHECK(result_of("DFT", {x}, "", 1, "", {}, 17) == "(1, 4, 2): 10 0 -2 2 -2 0 -2 -2");
  CHECK(result_of("DFT", {x}, integer("onesided", 1), 1, "", {}, 17) == "(1, 3, 2): 10 0 -2 2 -2 0");
  const Constant half = floats({1, 3, 2}, {10, 0, -2, 2, -2, 0});
  CHECK(result_of("DFT", {half}, integer("onesided", 1) + integer("inverse", 1), 1, "", {}, 17) ==
        "(1, 4, 1): 1 2 3 4");
  // The inverse of the transform of a signal of length 192, which is divided, is the signal.
  std::vector<float> wave;
  for (int k = 0; k < 192; ++k) wave.push_back(static_cast<float>(k % 7));
  std::string graph = value("input", "x", 1, {"1", "192", "1"}) + "output { name: 'y' } " +
                      node("DFT", {"x"}, {"f"}, integer("onesided", 1)) +
                      node("DFT", {"f"}, {"z"}, integer("onesided", 1) + integer("inverse", 1)) +
                      "initializer { name: 'by' data_type: 1 float_data: 1000 } " + node("Mul", {"z", "by"}, {"m"}) +
                      "initializer { name: 'h' data_type: 1 float_data: 0.5 } " + node("Add", {"m", "h"}, {"a"}) +
                      node("Floor", {"a"}, {"y"});
  std::string expected = "(1, 192, 1):";
  for (float v : wave) expected += fmt::format(" {:.4g}", 1000 * v);
  CHECK(evaluated(graph_bytes(graph, 17), {floats({1, 192, 1}, wave)}) == expected);
}

TEST_CASE("Resize keeps the sizes of axes whose scale is known to be 1") {
  const std::string graph = value("input", "x", 1, {"n", "3", "h", "w"}) + value("input", "s", 1, {"2"}) +
                            "initializer { name: 'ones' data_type: 1 dims: 2 float_data: 1 float_data: 1 } " +
                            node("Concat", {"ones", "s"}, {"scales"}, integer("axis", 0)) +
                            node("Resize", {"x", "", "scales"}, {"y"}) + value("output", "y", 1, {"n", "3", "a", "b"});
  const std::string text = imported(graph_bytes(graph));
  CHECK_MESSAGE(text.find("-> Tensor[(n, 3, ?1, ?2), float32]") != std::string::npos, text);
}

TEST_CASE("weights of Conv that are inputs may have symbolic numbers of channels") {
  auto model = [](const std::vector<std::string>& x, const std::vector<std::string>& w) {
    return graph_bytes(value("input", "x", 1, x) + value("input", "w", 1, w) + value("input", "b", 1, {w[0]}) +
                       node("Conv", {"x", "w", "b"}, {"y"}, ints("pads", {1, 0, 1, 0})) + "output { name: 'y' } ");
  };
  auto counted = [](std::vector<int64_t> shape) {
    std::vector<float> elements;
    int64_t count = 1;
    for (int64_t d : shape) count *= d;
    for (int64_t k = 0; k < count; ++k) elements.push_back(static_cast<float>(k * 7 % 11) - 5);
    return floats(std::move(shape), elements);
  };
  for (const auto& [in, out] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 3}, {5, 4}}) {
    const std::vector<Constant> args = {counted({2, in, 3, 4}), counted({out, in, 3, 2}), counted({out})};
    const std::string known = evaluated(model(dims_of(args[0]), dims_of(args[1])), args);
    CHECK(evaluated(model({"n", "c", "h", "w"}, {"o", "c", "3", "2"}), args) == known);
  }
  const std::string refused = imported(model({"n", "c", "h", "w"}, {"o", "c", "k", "2"}));
  CHECK_MESSAGE(refused.find("W must have as many axes as X, and a kernel of known size") != std::string::npos,
                refused);
}

TEST_CASE("auto_pad with strides pads images of symbolic sizes like those of known sizes") {
  auto model = [](const std::string& op, const std::string& attributes, const std::string& h, const std::string& w) {
    std::vector<std::string> operands = {"x"};
    std::string kernel;
    if (op == "Conv") {
      operands.push_back("k");
      for (int k = 0; k < 12; ++k) kernel += fmt::format("float_data: {} ", k % 5 - 2);
      kernel = "initializer { name: 'k' data_type: 1 dims: [1, 2, 3, 2] " + kernel + "} ";
    }
    std::vector<std::string> results = {"y"};
    if (op == "MaxPool") {
      results.push_back("at");
      kernel = value("output", "at", 7, {"1", "", "", ""});
    }
    return graph_bytes(value("input", "x", 1, {"1", "2", h, w}) + node(op, operands, results, attributes) +
                       value("output", "y", 1, {"1", "", "", ""}) + kernel);
  };
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER"}) {
    const std::string shared = text("auto_pad", mode) + ints("kernel_shape", {3, 2});
    for (const auto& [op, attributes] : std::vector<std::pair<std::string, std::string>>{
             {"Conv", shared + ints("strides", {2, 3})},
             {"Conv", shared + ints("strides", {4, 2}) + ints("dilations", {2, 3})},
             {"MaxPool", shared + ints("strides", {2, 3})},
             {"MaxPool", shared + ints("strides", {3, 2}) + integer("storage_order", 1)},
             {"AveragePool", shared + ints("strides", {2, 2})},
             {"AveragePool", shared + ints("strides", {2, 2}) + integer("count_include_pad", 1)},
             {"LpPool", shared + ints("strides", {3, 2}) + integer("p", 1)}}) {
      CAPTURE(op);
      for (const auto& [h, w] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 5}, {5, 2}, {6, 7}, {7, 6}}) {
        std::vector<float> elements;
        for (int64_t k = 0; k < 2 * h * w; ++k) elements.push_back(static_cast<float>(k * 7 % 11) - 8);
        const Constant x = floats({1, 2, h, w}, elements);
        const std::string height = std::to_string(h), width = std::to_string(w);
        const std::string known = evaluated(model(op, attributes, height, width), {x});
        CHECK(evaluated(model(op, attributes, "h", "w"), {x}) == known);
        CHECK(evaluated(model(op, attributes, "h", width), {x}) == known);
      }
    }
    const std::string padded = imported(model("Conv", shared + ints("strides", {2, 2}), "h", "w"));
    CHECK_MESSAGE(padded.find("Tensor[(1, 1, floor_div(h + 1, 2), floor_div(w + 1, 2)), float32]") != std::string::npos,
                  padded);
  }
}
