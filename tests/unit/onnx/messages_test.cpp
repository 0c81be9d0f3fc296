// Messages in the words of ONNX, suggestions for misspelled names, and warnings.
#include <algorithm>

#include "frontends/onnx/foreign_operators.h"
#include "frontends/onnx/operators/table.h"
#include "support.h"

using namespace dlcc;
using namespace dlcc::frontends;
using namespace dlcc::frontends::onnx;

namespace {

const std::string x = value("input", "x", 1, {"2"});
const std::string y = value("output", "y", 1, {"2"});

// All diagnostics of a model, and whether it was imported.
std::string diagnostics_of(const std::string& graph, bool& is_imported, int opset = 17) {
  ImportOptions options;
  options.file = "m";
  Diagnostics diagnostics;
  is_imported = import_onnx(graph_bytes(graph, opset), options, diagnostics).has_value();
  CHECK(is_imported != diagnostics.has_errors());
  return diagnostics.str();
}

std::string errors_of(const std::string& graph, int opset = 17) {
  bool is_imported = false;
  std::string text = diagnostics_of(graph, is_imported, opset);
  CHECK(!is_imported);
  return text;
}

std::string warnings_of(const std::string& graph) {
  bool is_imported = false;
  std::string text = diagnostics_of(graph, is_imported);
  CHECK(is_imported);
  return text;
}

std::string floats(const std::string& name, const std::vector<std::string>& values) {
  return fmt::format("initializer {{ name: '{}' data_type: 1 dims: {} float_data: [{}] }} ", name, values.size(),
                     fmt::join(values, ", "));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("messages on operands use the names of the ONNX standard") {
  const std::string a = value("input", "a", 1, {"2", "3"}), b = value("input", "b", 1, {"4", "5"});
  const std::string product = errors_of(a + b + y + node("MatMul", {"a", "b"}, {"y"}));
  CHECK(product ==
        "m: node 'y' (MatMul): error[shape-mismatch]: axis 1 of A must equal axis 0 of B, found 3 and 4\n"
        "    A 'a' float32 [2, 3]\n    B 'b' float32 [4, 5]\n"
        "    help: the columns of the first matrix meet the rows of the second; Transpose one of them\n");
  const std::string image = value("input", "i", 1, {"1", "4", "8", "8"}),
                    weights = value("input", "w", 1, {"8", "3", "3", "3"});
  const std::string conv = errors_of(image + weights + y + node("Conv", {"i", "w"}, {"y"}));
  CHECK(has(conv, "the weight has 3 input channels") == false);
  CHECK(has(conv, "W has 3 input channels"));
  CHECK(has(conv, "X has 4"));
  CHECK(has(conv, "with group=1 X must have 3 channels"));
  const std::string list = errors_of(a + b + y + node("Concat", {"a", "b"}, {"y"}, integer("axis", 0)));
  CHECK(has(list, "axis 1 of inputs[1] must equal axis 1 of inputs[0], found 5 and 3"));
  CHECK(has(errors_of(a + value("input", "k", 7, {"2"}) + y + node("Where", {"a", "a", "k"}, {"y"})),
            "condition must be bool, found float32"));
}

TEST_CASE("a channel mismatch from another layout names the axis and a remedy") {
  const std::string nhwc = value("input", "i", 1, {"1", "8", "8", "3"}),
                    oihw = value("input", "w", 1, {"4", "3", "3", "3"}),
                    nchw = value("input", "i", 1, {"1", "3", "8", "8"}),
                    hwio = value("input", "w", 1, {"5", "5", "3", "4"}), conv = node("Conv", {"i", "w"}, {"y"});
  CHECK(has(errors_of(nhwc + oihw + y + conv),
            "help: the channels are axis 1; those of X seem to be the last axis: Transpose it to NCHW"));
  CHECK(has(errors_of(nchw + hwio + y + conv),
            "help: W seems to have its channels after the kernel's axes: Transpose it to OIHW"));
  CHECK(has(errors_of(nchw + oihw + y + node("Conv", {"i", "w"}, {"y"}, ints("kernel_shape", {5, 5}))),
            "kernel_shape is [5, 5], but W has kernels of [3, 3]\n"));
}

TEST_CASE("a mismatch of Gemm's factors names the flag that transposes one") {
  const std::string a = value("input", "a", 1, {"2", "3"}), b = value("input", "b", 1, {"4", "3"});
  CHECK(errors_of(a + b + y + node("Gemm", {"a", "b"}, {"y"})) ==
        "m: node 'y' (Gemm): error[shape-mismatch]: axis 1 of A must equal axis 0 of B, found 3 and 4\n"
        "    A 'a' float32 [2, 3]\n    B 'b' float32 [4, 3]\n    help: with transB=1 they are equal\n");
  CHECK(has(errors_of(a + b + y + node("Gemm", {"b", "a"}, {"y"}, integer("transA", 1) + integer("transB", 1))),
            "axis 0 of A must equal axis 1 of B, found 4 and 3"));
  CHECK(has(errors_of(a + b + y + node("Gemm", {"b", "a"}, {"y"}, integer("transA", 1) + integer("transB", 1))),
            "help: with transA=0 they are equal"));
}

TEST_CASE("an attribute that became an input is explained") {
  const std::string remedy = "help: in operator set 17 axes is an input; the inputs of ";
  CHECK(has(errors_of(x + y + node("Squeeze", {"x"}, {"y"}, ints("axes", {0}))), remedy + "Squeeze are: data axes?"));
  CHECK(
      has(errors_of(x + y + node("Unsqueeze", {"x"}, {"y"}, ints("axes", {0}))), remedy + "Unsqueeze are: data axes"));
  CHECK(has(errors_of(x + y + node("TopK", {"x"}, {"y"}, integer("k", 1))), "in operator set 17 K is an input"));
  CHECK(has(errors_of(x + value("input", "a", 7, {"1"}) + y + node("Squeeze", {"x", "a"}, {"y"}), 11),
            "help: the inputs of Squeeze are: data; in operator sets from 13 it may have 2"));
}

TEST_CASE("an unknown attribute without a similar name lists all attributes") {
  CHECK(
      has(errors_of(x + y + node("Softmax", {"x"}, {"y"}, integer("dimension", 0))), "help: Softmax may have: axis\n"));
}

TEST_CASE("operator names of other frameworks are recognized") {
  const auto meant = [](const char* name) { return std::string(find_foreign_operator(name).first); };
  CHECK(meant("Conv2D") == "Conv");
  CHECK(meant("aten::conv_transpose2d") == "ConvTranspose");
  CHECK(meant("FusedBatchNormV3") == "BatchNormalization");
  CHECK(meant("nn.Linear") == "Gemm");
  CHECK(meant("Foo").empty());
  CHECK(meant("2d").empty());
  for (const char* word : {"batch_norm", "relu6", "silu", "stack", "bias_add", "embedding", "pixel_shuffle", "dense"})
    CHECK(std::ranges::binary_search(standard_operators(), meant(word)));
  for (const std::string& op : standard_operators()) CHECK((meant(op.c_str()).empty() || meant(op.c_str()) == op));
  CHECK(has(errors_of(x + y + node("Dense", {"x"}, {"y"})),
            "help: did you mean 'Gemm' with transB=1 if the weights are (outputs, inputs)?\n"));
}

TEST_CASE("errors of operators composed of several Relay calls name the node's inputs") {
  const std::string a = value("input", "a", 1, {"2", "3"}), b = value("input", "b", 1, {"5", "4"});
  CHECK(has(errors_of(a + b + y + node("Einsum", {"a", "b"}, {"y"}, text("equation", "ij,jk->ik"))),
            "the sizes of 'j' differ: 3 in input 0, 5 in input 1"));
  CHECK(has(errors_of(a + b + y + node("Einsum", {"a", "b"}, {"y"}, text("equation", "...i,...k->...ik"))),
            "the sizes of '...' differ: 2 in input 0, 5 in input 1"));
  const std::string images = value("input", "x", 1, {"1", "4", "8", "8"}), five = value("input", "s", 1, {"5"});
  CHECK(has(errors_of(images + five + y + node("InstanceNormalization", {"x", "s", "s"}, {"y"})),
            "scale must have one element for each of the 4 channels, found shape (5)"));
  CHECK(has(
      errors_of(images + five + y + node("GroupNormalization", {"x", "s", "s"}, {"y"}, integer("num_groups", 2)), 21),
      "scale must have one element for each of the 4 channels, found shape (5)"));
  CHECK(has(
      errors_of(images + five + y + node("GroupNormalization", {"x", "s", "s"}, {"y"}, integer("num_groups", 2)), 20),
      "scale must have one element for each of the 2 groups, found shape (5)"));
  CHECK(has(errors_of(images + five + y + node("LayerNormalization", {"x", "s"}, {"y"})),
            "Scale of shape (5) cannot be broadcast to X's shape (1, 4, 8, 8)"));
  const std::string w = value("input", "w", 1, {"3", "4"});
  CHECK(has(errors_of(a + w + five + y + node("Gemm", {"a", "w", "s"}, {"y"})),
            "C of shape (5) cannot be broadcast to the product's shape (2, 4)"));
  const std::string stack = value("input", "p", 1, {"2", "3", "4"}), other = value("input", "q", 1, {"3", "4", "5"});
  CHECK(has(errors_of(stack + other + y + node("MatMul", {"p", "q"}, {"y"})),
            "the batch axes (2) of A and (3) of B cannot be broadcast"));
}

TEST_CASE("attributes that the operator set does not have are refused") {
  const std::string image = value("input", "x", 1, {"1", "1", "4", "4"});
  const std::string scales = floats("s", {"1", "1", "2", "2"});
  auto resized = [&](const std::string& attribute) {
    const std::string node = "node { op_type: 'Resize' input: 'x' input: '' input: 's' output: 'y' ";
    return errors_of(image + scales + y + node + attribute + "}", 18);
  };
  CHECK(has(resized(text("mode", "bilinear")), "mode is 'bilinear'"));
  CHECK(has(resized(text("keep_aspect_ratio_policy", "bogus")), "keep_aspect_ratio_policy is 'bogus'"));
}

TEST_CASE("messages on attributes and remedies use the names of the standard") {
  const std::string a = value("input", "a", 1, {"2", "3"}), b = value("input", "b", 1, {"4"});
  CHECK(has(errors_of(a + list("s", {0}) + list("e", {1, 2}) + y + node("Slice", {"a", "s", "e"}, {"y"})),
            "starts and ends must have"));
  CHECK(has(errors_of(a + y + node("Transpose", {"a"}, {"y"}, ints("perm", {0}))), "'perm' must name all 2 axes"));
  CHECK(has(errors_of(a + y + node("Transpose", {"a"}, {"y"}, ints("perm", {1, -1}))), "'perm' has axis -1 twice"));
  CHECK(
      has(errors_of(a + b + y + node("Add", {"a", "b"}, {"y"})), "at their last dimensions; Reshape or Unsqueeze one"));
}

TEST_CASE("an intermediate operand of a composed operator has no Relay name in messages") {
  const std::string image = value("input", "i", 1, {"1", "3", "8", "8"}), bias = value("input", "b", 1, {"7"}),
                    weights = value("input", "w", 1, {"8", "3", "3", "3"});
  CHECK(has(errors_of(image + weights + bias + y + node("Conv", {"i", "w", "b"}, {"y"})),
            "the length of B must equal the intermediate value's size along axis 1, found 7 and 8"));
}

TEST_CASE("an operand that the importer reshapes keeps its name in messages") {
  const std::string a = value("input", "a", 1, {"3"}), b = value("input", "b", 1, {"4", "5"});
  CHECK(has(errors_of(a + b + y + node("MatMul", {"a", "b"}, {"y"})), "axis 1 of A must equal axis 0 of B"));
}

TEST_CASE("misspelled operators, attributes and values have suggestions") {
  CHECK(errors_of(x + y + node("Rleu", {"x"}, {"y"})) ==
        "m: node 'y' (Rleu): error[unsupported-operator]: there is no operator Rleu in ONNX\n"
        "    help: did you mean 'Relu'?\n");
  CHECK(has(errors_of(x + y + node("Softmax", {"x"}, {"y"}, integer("axes", 0))), "help: did you mean 'axis'?"));
  CHECK(has(errors_of(x + value("input", "hidden", 1, {"2"}) + y + node("Add", {"x", "hiden"}, {"y"})),
            "nothing defines its input 'hiden'\n    help: did you mean 'hidden'?"));
}

TEST_CASE("misspelled operators of other domains have suggestions of their domain") {
  auto errors = [](const std::string& domain, const std::string& op) {
    return imported(model_bytes(fmt::format(
        "ir_version: 8 opset_import {{ version: 17 }} opset_import {{ domain: '{}' version: 1 }} graph {{ {}{} "
        "node {{ op_type: '{}' domain: '{}' input: 'x' output: 'y' }} }}",
        domain, x, y, op, domain)));
  };
  CHECK(has(errors("com.microsoft", "BiasGellu"), "help: did you mean 'BiasGelu'?"));
  CHECK(has(errors("com.microsoft", "LinearRegresor"), "help: a model-local function can define it"));
  CHECK(has(errors("ai.onnx.ml", "LinearRegresor"), "help: did you mean 'LinearRegressor'?"));
  CHECK(has(errors("ai.onnx.ml", "ZipMap"), "help: a compiled model has no maps"));
}

TEST_CASE("an unsupported operator of the standard gets no spelling suggestion") {
  CHECK(has(errors_of(x + y + node("StringSplit", {"x"}, {"y"}), 20), "help: a compiled model computes with numbers"));
  CHECK(errors_of(x + y + node("ImageDecoder", {"x"}, {"y"})) ==
        "m: node 'y' (ImageDecoder): error[unsupported-operator]: operator ImageDecoder is not supported\n"
        "    help: decode the image before the model, and export the part after it, whose input is the pixels\n");
}

TEST_CASE("every operator of the table is in the standard or of onnxruntime, and each input has a name") {
  CHECK(std::ranges::is_sorted(standard_operators()));
  for (const std::string& op : operator_table().names()) {
    CAPTURE(op);
    const bool foreign = op.find('.') != std::string::npos || op == "SimplifiedLayerNormalization";
    CHECK((foreign || std::ranges::binary_search(standard_operators(), op)));
    for (int64_t opset = *operator_table().first_version(op); opset <= 28; ++opset) {
      const Row* row = operator_table().find(op, opset);
      REQUIRE(row);
      for (int k = 0; k < row->max_inputs; ++k) CHECK(!input_name(*row, k).empty());
      CHECK((row->max_inputs == any_number || input_name(*row, row->max_inputs).empty()));
    }
  }
}

TEST_CASE("of many errors only the first hundred have suggestions") {
  std::string graph = x + y;
  constexpr int nodes = 30000;
  for (int k = 0; k < nodes; ++k)
    graph += node("Relu", {fmt::format("missing_{}", k)}, {k + 1 < nodes ? fmt::format("missing{}", k) : "y"});
  const std::string text = errors_of(graph);
  size_t errors = 0, suggestions = 0;
  for (size_t at = 0; (at = text.find("nothing defines", at)) != text.npos; ++at) ++errors;
  for (size_t at = 0; (at = text.find("did you mean", at)) != text.npos; ++at) ++suggestions;
  CHECK(errors == nodes);
  CHECK(suggestions == 99);  // the first node has no name before it
}

TEST_CASE("nodes after an unknown operator are checked if the model declares its type") {
  const std::string hidden = value("value_info", "h", 1, {"2", "3"});
  const std::string text = errors_of(
      x + y + hidden + node("ImageDecoder", {"x"}, {"h"}) + node("Softmax", {"h"}, {"s"}, integer("axis", 5)) +
      node("Concat", {"x", "x"}, {"c"}) + node("Relu", {"s", "c"}, {"r"}) + node("Add", {"r", "missing"}, {"y"}));
  CHECK(text ==
        "m: node 'h' (ImageDecoder): error[unsupported-operator]: operator ImageDecoder is not supported\n"
        "    help: decode the image before the model, and export the part after it, whose input is the pixels\n"
        "m: node 's' (Softmax): error[bad-attribute]: axis must be in [-2, 1], found 5\n"
        "    input 'h' float32 [2, 3]\n"
        "m: node 'c' (Concat): error[bad-attribute]: attribute 'axis' is missing\n"
        "    inputs[0] 'x' float32 [2]\n    inputs[1] 'x' float32 [2]\n"
        "m: node 'r' (Relu): error[wrong-arity]: has at most 1 input, found 2\n"
        "    help: the inputs of Relu are: X\n"
        "m: node 'y' (Add): error[undefined-value]: nothing defines its input 'missing'\n"
        "    help: the model has no initializers: if this is a weight, export it with weights\n");
}

TEST_CASE("without a declared type, nodes that depend on an unknown operator are not checked") {
  CHECK(errors_of(x + value("output", "y", 1, {"n"}) + node("ImageDecoder", {"x"}, {"h"}) +
                  node("Softmax", {"h"}, {"y"}, integer("axis", 5)))
            .find("Softmax") == std::string::npos);
}

TEST_CASE("a declared shape that cannot be right is a warning") {
  const std::string a = value("input", "a", 1, {"2", "3"}), relu = node("Relu", {"a"}, {"b"});
  CHECK(warnings_of(a + value("output", "b", 1, {"3", "2"}) + relu) ==
        "m: output 'b': warning[declared-shape]: declared as float32 [3, 2], but computed as float32 [2, 3]\n"
        "    help: the compiled model has the computed shape; correct the declaration if that is right\n");
  CHECK(has(warnings_of(a + value("output", "b", 1, {"6"}) + relu), "warning[declared-shape]"));
  CHECK(warnings_of(a + value("output", "b", 1, {"n", "3"}) + relu).empty());
  CHECK(warnings_of(a + value("output", "b", 1, {"", "3"}) + relu).empty());
  CHECK(warnings_of(a + value("output", "b", 1, {"2", "3"}) + relu).empty());
}

TEST_CASE("a declared shape of a value between nodes that differs from the computed one is a warning") {
  const std::string nodes = node("Relu", {"x"}, {"h"}) + node("Relu", {"h"}, {"y"});
  const std::string text = warnings_of(x + value("value_info", "h", 1, {"3", "2"}) + y + nodes);
  CHECK(text.starts_with(
      "m: value 'h': warning[declared-shape]: declared as float32 [3, 2], but computed as float32 [2]\n"));
  CHECK(warnings_of(x + value("value_info", "h", 1, {""}) + y + nodes).empty());
}

TEST_CASE("an input that nothing uses is a warning") {
  const std::string relu = node("Relu", {"x"}, {"y"}), unused = value("input", "mask", 1, {"2"});
  CHECK(warnings_of(x + unused + y + relu) ==
        "m: input 'mask': warning[unused-input]: nothing uses this input\n"
        "    help: the compiled model has it as an argument; remove it from the model if it is not needed\n");
  CHECK(warnings_of(x + unused + y + value("output", "mask", 1, {"2"}) + relu).empty());
}

TEST_CASE("NaN and infinities in weights are a warning, in masks they are not") {
  const std::string sum = node("Add", {"x", "w"}, {"y"});
  CHECK(has(warnings_of(x + y + floats("w", {"1", "nan"}) + sum),
            "m: initializer 'w': warning[weights-not-finite]: 1 of 2 elements are NaN\n"));
  CHECK(has(warnings_of(x + y + floats("w", {"1", "-inf"}) + sum), "1 of 2 elements are infinite\n"));
  CHECK(warnings_of(x + y + floats("w", {"0", "-inf"}) + sum).empty());
  const std::string constant = node("Constant", {}, {"w"}, "attribute { name: 'value_float' type: FLOAT f: nan }");
  CHECK(
      has(warnings_of(x + y + constant + sum), "m: node 'w' (Constant): warning[weights-not-finite]: 1 of 1 elements"));
  CHECK(warnings_of(x + y + floats("w", {"1", "-3.4e38"}) + sum).empty());
}

TEST_CASE("a number that an integer type cannot hold is a warning") {
  const std::string a = value("input", "a", 6, {"2", "2"}), out = value("output", "y", 6, {"2", "2"});
  CHECK(has(warnings_of(a + out + node("Gemm", {"a", "a"}, {"y"}, number("alpha", 4294967296.0f))),
            "m: node 'y' (Gemm): warning[lost-precision]: the number 4294967296 becomes 0 in int32\n"));
  CHECK(warnings_of(a + out + node("Gemm", {"a", "a"}, {"y"}, number("alpha", 2))).empty());
}
