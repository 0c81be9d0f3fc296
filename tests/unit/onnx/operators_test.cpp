// Operators that become several calls of Relay operators: differences between operator sets, and errors.
#include "support.h"

using namespace dlcc::frontends::onnx;

namespace {

const std::string three = "initializer { name: 'a' data_type: 1 dims: 3 float_data: [1, 2, 3] } ";
const std::string six = "initializer { name: 'c' data_type: 1 dims: 6 float_data: [1, 2, 3, 4, 5, 6] } ";

}  // namespace

TEST_CASE("a slope of PRelu belongs to a channel before operator set 7") {
  CHECK(ImportedNode{"PRelu", 6, {"x", "a"}, "", three}.says("Tensor[(2, 3, 4), float32] = multiply(%x"));
  CHECK(ImportedNode{"PRelu", 7, {"x", "a"}, "", three}.says("sizes 4 and 3 differ"));
}

TEST_CASE("remainders of floats need fmod=1 before operator set 28") {
  CHECK(ImportedNode{"Mod", 13, {"x", "x"}}.says("floats need attribute fmod=1"));
  CHECK(ImportedNode{"Mod", 13, {"x", "x"}, integer("fmod", 1)}.result() == "  mod(%x, %x)\n");
  CHECK(ImportedNode{"Mod", 28, {"x", "x"}}.result() == "  floor_mod(%x, %x)\n");
}

TEST_CASE("IsInf detects the infinities that its attributes select") {
  CHECK(ImportedNode{"IsInf", 20}.result() == "  isinf(%x)\n");
  CHECK(ImportedNode{"IsInf", 20, {"x"}, integer("detect_negative", 0)}.result() == "  equal(%x, inff)\n");
  CHECK(ImportedNode{"IsInf", 20, {"x"}, integer("detect_negative", 0) + integer("detect_positive", 0)}.result() ==
        "  meta[relay.Constant][0]\n");
}

TEST_CASE("an invalid attribute value is an error that lists the valid ones") {
  CHECK(ImportedNode{"BitShift", 11, {"x", "x"}, text("direction", "UP")}.says("it must be 'LEFT' or 'RIGHT'"));
  CHECK(ImportedNode{"Gelu", 20, {"x"}, text("approximate", "exp")}.says("it must be 'none' or 'tanh'"));
  CHECK(ImportedNode{"LpNormalization", 22, {"x"}, integer("p", 3)}.says("it must be 1 or 2"));
  CHECK(ImportedNode{"BitCast", 26, {"x"}, integer("to", 10)}.says(
      "elements of float32 have 32 bits, those of float16 have 16"));
}

TEST_CASE("the parameters of GroupNormalization belong to groups before operator set 21, then to channels") {
  const std::string groups = integer("num_groups", 3);
  CHECK(ImportedNode{"GroupNormalization", 18, {"x", "a", "a"}, groups, three}.result().find("errors") ==
        std::string::npos);
  CHECK(ImportedNode{"GroupNormalization", 21, {"x", "a", "a"}, groups, three}.result().find("errors") ==
        std::string::npos);
  CHECK(ImportedNode{"GroupNormalization", 21, {"x", "a", "a"}, integer("num_groups", 2), three}.says(
      "3 channels cannot be divided into 2 groups"));
  CHECK(ImportedNode{"GroupNormalization", 18, {"x", "c", "c"}, groups, six}.says("shape-mismatch"));
}

TEST_CASE("BatchNormalization computes statistics in training mode, which depends on the operator set") {
  const std::vector<std::string> inputs = {"x", "a", "a", "a", "a"};
  CHECK(ImportedNode{"BatchNormalization", 15, inputs, "", three}.says("nn.batch_norm"));
  CHECK(
      ImportedNode{"BatchNormalization", 15, inputs, integer("training_mode", 1), three}.says("mean(%x, axis=[0, 2]"));
  CHECK(ImportedNode{"BatchNormalization", 9, inputs, "", three, {"y", "m", "v"}}.says("mean(%x, axis=[0, 2]"));
  CHECK(ImportedNode{"BatchNormalization", 6, inputs, integer("is_test", 1), three, {"y", "m", "v"}}.says(
      "nn.batch_norm"));
  CHECK(ImportedNode{"BatchNormalization", 15, inputs, "", three, {"y", "m", "v"}}.says(
      "there are running statistics in training mode only"));
  CHECK(ImportedNode{"BatchNormalization", 6, inputs, integer("is_test", 1), three, {"y", "m", "v", "s"}}.says(
      "its output 's' is not computed"));
}

TEST_CASE("Trilu, EyeLike, OneHot, Range and Tile: structure and errors") {
  CHECK(ImportedNode{"Trilu", 14}.says("where("));
  CHECK(ImportedNode{"EyeLike", 9}.says("input must be a matrix, found float32 [2, 3, 4]"));
  CHECK(ImportedNode{"OneHot", 11, {"x", "a", "a"}, "", three}.says("depth must have one element, found float32 [3]"));
  const std::string number = "initializer { name: 'n' data_type: 7 int64_data: 0 } ";
  CHECK(ImportedNode{"Range", 11, {"n", "n", "n"}, "", number}.says("delta must not be 0"));
  CHECK(ImportedNode{"Range", 11, {"n", "n", "x"}, "", number}.says("delta must have one element"));
  CHECK(ImportedNode{"Tile", 6, {"x", "n"}, "", number}.says("one element for each of the 3 axes"));
}

TEST_CASE("Adam, Adagrad and Momentum take lists of tensors") {
  auto adam = [](const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const char* op = "Adam") {
    const std::string graph = value("input", "r", 1, {}) + value("input", "t", 7, {}) + value("input", "x", 1, {"2"}) +
                              "output { name: 'y' } " +
                              node(op, inputs, outputs, "domain: 'ai.onnx.preview.training' ");
    return body(
        model_bytes("ir_version: 8 opset_import { version: 21 } "
                    "opset_import { domain: 'ai.onnx.preview.training' version: 1 } graph { " +
                    graph + "}"));
  };
  CHECK(adam({"r", "t", "x", "x", "x", "x"}, {"y", "v", "h"}).find("errors") == std::string::npos);
  CHECK(adam({"r", "t", "x", "x", "x"}, {"y", "v", "h"}).find("needs 2 inputs and 4 for each optimized tensor") !=
        std::string::npos);
  CHECK(adam({"r", "t", "x", "x", "x"}, {"y", "v"}, "Momentum").find("it must be 'standard' or 'nesterov'") !=
        std::string::npos);
  CHECK(adam({"r", "t", "x", "x", "x"}, {"y", "v"}, "Sgd")
            .find("operator ai.onnx.preview.training.Sgd is not supported") != std::string::npos);
}

TEST_CASE("random numbers: the attribute 'seed', else a sequence for each node") {
  CHECK(ImportedNode{"RandomUniformLike", 22, {"x"}, number("seed", 1)}.says("random.philox_uniform") ==
        false);  // a constant
  const std::string two = value("input", "x", 1, {"n"}) + "output { name: 'z' } " +
                          node("RandomNormalLike", {"x"}, {"y"}) + node("Bernoulli", {"y"}, {"z"});
  const std::string text = body(graph_bytes(two, 22));
  CHECK(text.find("random.philox_normal(shape=[n], dtype=\"float32\")") != std::string::npos);
  CHECK(text.find("random.philox_uniform(shape=[n], dtype=\"float32\", stream=1)") != std::string::npos);
  CHECK(ImportedNode{"RandomNormal", 22, {}}.says("attribute 'shape' is missing"));
  CHECK(ImportedNode{"Multinomial", 22}.says("input must have axes for batch and classes"));
}

TEST_CASE("operators that only move elements widen sub-byte elements") {
  auto moved = [](int type, const std::string& op, const std::vector<std::string>& inputs, const std::string& rest) {
    return body(graph_bytes(
        value("input", "x", type, {"3", "5"}) + "output { name: 'y' } " + rest + node(op, inputs, {"y"}), 25));
  };
  CHECK(moved(22, "Transpose", {"x"}, "") ==
        "  let %cast: Tensor[(3, 5), int8] = cast(%x, dtype=\"int8\");\n"
        "  let %transpose: Tensor[(5, 3), int8] = transpose(%cast, axes=[1, 0]);\n"
        "  cast(%transpose, dtype=\"int4\")\n");
  CHECK(moved(23, "Pad", {"x", "pads", "c"}, list("pads", {0, 1, 0, 0}) + value("input", "c", 23, {})) ==
        "  let %cast: Tensor[(3, 5), float16] = cast(%x, dtype=\"float16\");\n"
        "  let %cast_1: float16 = cast(%c, dtype=\"float16\");\n"
        "  let %reshape: float16 = reshape(%cast_1, newshape=[]);\n"
        "  let %pad: Tensor[(3, 6), float16] = nn.pad(%cast, %reshape, pad_width=[[0, 0], [1, 0]]);\n"
        "  cast(%pad, dtype=\"float4_e2m1fn\")\n");
}

TEST_CASE("TopK of 0 elements selects none; the maximum of RoiAlign is that of weighted pixels") {
  const std::string top = body(graph_bytes(
      value("input", "x", 1, {"3"}) + "output { name: 'y' } " + list("k", {0}) + node("TopK", {"x", "k"}, {"y", "i"}),
      11));
  CHECK_MESSAGE(top.find("topk(%x, k=[0], dtype=\"int64\", all_below_1=False)") != std::string::npos, top);
  const std::string boxes = value("input", "x", 1, {"1", "1", "2", "2"}) + value("input", "r", 1, {"1", "4"}) +
                            value("input", "i", 7, {"1"}) + "output { name: 'y' } ";
  const std::string align =
      body(graph_bytes(boxes + node("RoiAlign", {"x", "r", "i"}, {"y"}, text("mode", "max")), 16));
  CHECK_MESSAGE(align.find("mode=\"max_corner\"") != std::string::npos, align);
}

TEST_CASE("QLinearMatMul of float8 multiplies the dequantized numbers") {
  const std::string parameters =
      "initializer { name: 's' data_type: 1 dims: 2 float_data: [0.5, 2] } "
      "initializer { name: 'one' data_type: 1 float_data: 1 } "
      "initializer { name: 'z' data_type: 17 dims: 2 raw_data: '\\0\\0' } "
      "initializer { name: 'zero' data_type: 17 raw_data: '\\0' } ";
  const std::string text = body(
      graph_bytes(value("input", "x", 17, {"2", "3"}) + value("input", "w", 17, {"3", "2"}) + "output { name: 'y' } " +
                      parameters + node("QLinearMatMul", {"x", "s", "z", "w", "one", "zero", "one", "zero"}, {"y"}),
                  21));
  CHECK(text ==
        "  let %cast: Tensor[(2, 3), float32] = cast(%x, dtype=\"float32\");\n"
        "  let %subtract: Tensor[(2, 3), float32] = subtract(%cast, meta[relay.Constant][0]);\n"
        "  let %multiply: Tensor[(2, 3), float32] = multiply(%subtract, meta[relay.Constant][1]);\n"
        "  let %cast_1: Tensor[(3, 2), float32] = cast(%w, dtype=\"float32\");\n"
        "  let %subtract_1: Tensor[(3, 2), float32] = subtract(%cast_1, 0f);\n"
        "  let %multiply_1: Tensor[(3, 2), float32] = multiply(%subtract_1, 1f);\n"
        "  let %matmul: Tensor[(2, 2), float32] = nn.matmul(%multiply, %multiply_1);\n"
        "  qnn.quantize(%matmul, 1f, meta[relay.Constant][2], axis=0)\n");
}
