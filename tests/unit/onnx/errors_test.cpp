// All problems of a model are reported, each once and with its location.
#include "support.h"

using namespace dlcc::frontends::onnx;

namespace {

const std::string x = value("input", "x", 1, {"2"});
const std::string y = value("output", "y", 1, {"2"});

std::string errors_of(const std::string& graph, int opset = 17) {
  std::string text = imported(graph_bytes(graph, opset));
  return text.starts_with("errors:\n") ? text.substr(8) : "no errors:\n" + text;
}

}  // namespace

TEST_CASE("bytes that are not a model are refused") {
  CHECK(imported({}) == "errors:\nm: error[malformed-model]: the model is empty\n");
  CHECK(imported({std::byte{0x42}, std::byte{1}}) ==
        "errors:\nm: error[malformed-model]: the bytes are not an ONNX model, or end too early\n"
        "    help: copy, download or export the file again; a model of another framework must be converted to ONNX\n");
  CHECK(imported(model_bytes("ir_version: 8")) ==
        "errors:\nm: error[malformed-model]: there is no graph\n    help: if this is a model of another framework, "
        "convert it to ONNX, TensorFlow's for instance with tf2onnx\n");
  CHECK(imported(graph_bytes("name: 'g'")) ==
        "errors:\nm: error[malformed-model]: the graph has no outputs\n"
        "    help: list the values that you want in the graph's 'output'\n");
}

TEST_CASE("unknown operator sets, IR versions and domains are refused") {
  CHECK(errors_of(x + y + node("Relu", {"x"}, {"y"}), 99) ==
        "m: error[unsupported-opset]: operator set 99 is not known\n    help: versions 1 to 28 are\n");
  CHECK(imported(model_bytes("ir_version: 99 opset_import { version: 17 } graph { " + x + y +
                             node("Relu", {"x"}, {"y"}) + "}")) ==
        "errors:\nm: error[unsupported-opset]: IR version 99 is not known\n    help: versions 1 to 14 are\n");
  CHECK(errors_of(x + y + "node { op_type: 'Relu' domain: 'com.example' input: 'x' output: 'y' }") ==
        "m: node 'y' (com.example.Relu): error[unsupported-opset]: the model does not import domain 'com.example'\n");
  CHECK(
      imported(model_bytes("ir_version: 8 opset_import { domain: 'com.example' version: 1 } graph { " + x + y +
                           "node { op_type: 'Foo' domain: 'com.example' input: 'x' output: 'y' } }")) ==
      "errors:\nm: node 'y' (com.example.Foo): error[unsupported-operator]: operator com.example.Foo is not supported\n"
      "    help: a model-local function can define it\n");
}

TEST_CASE("all problems are found, and nodes that depend on them are not reported") {
  const std::string define_it = "    help: a model-local function can define it\n";
  CHECK(errors_of(x + y + node("Foo", {"x"}, {"a"}) + node("Exp", {"a"}, {"b"}) + node("Qux", {"b"}, {"c"}) +
                  node("Relu", {"x"}, {"d"}, integer("alpha", 1)) + node("Add", {"c", "missing"}, {"y"})) ==
        "m: node 'a' (Foo): error[unsupported-operator]: there is no operator Foo in ONNX\n" + define_it +
            "m: node 'c' (Qux): error[unsupported-operator]: there is no operator Qux in ONNX\n" + define_it +
            "m: node 'd' (Relu): error[bad-attribute]: there is no attribute 'alpha' in operator set 17\n"
            "    X 'x' float32 [2]\n    help: Relu has no attributes\n"
            "m: node 'y' (Add): error[undefined-value]: nothing defines its input 'missing'\n"
            "    help: the model has no initializers: if this is a weight, export it with weights\n");
}

TEST_CASE("an attribute of the wrong type is an error") {
  CHECK(errors_of(x + y + node("ReduceMean", {"x"}, {"y"}, "attribute { name: 'axes' type: STRINGS strings: '0' }")) ==
        "m: node 'y' (ReduceMean): error[bad-attribute]: attribute 'axes' must be of type ints, found strings\n"
        "    data 'x' float32 [2]\n");
}

TEST_CASE("cycles, duplicate names and missing outputs are errors") {
  CHECK(errors_of(x + y + node("Add", {"x", "b"}, {"a"}) + node("Exp", {"a"}, {"b"}) + node("Neg", {"b"}, {"y"})) ==
        "m: node 'a' (Add): error[cyclic-graph]: the node depends on itself\n"
        "    needs the result of node 'b' (Exp)\n    needs the result of node 'a' (Add)\n"
        "    help: an input of one of these nodes has a wrong name; loops over time are Loop or Scan nodes\n");
  CHECK(errors_of(x + x + y + node("Exp", {"x"}, {"y"}) + node("Neg", {"x"}, {"y"})) ==
        "m: input 'x': error[duplicate-definition]: another input has this name\n"
        "m: node 'y' (Neg): error[duplicate-definition]: another value has the name of its output 'y'\n"
        "    help: give each input, initializer and output of a node a name of its own\n");
  CHECK(errors_of(x + y) ==
        "m: output 'y': error[undefined-value]: nothing produces this output\n"
        "    help: the name must be that of an input, an initializer or an output of a node\n");
}

TEST_CASE("wrong types, shapes and numbers of inputs are errors") {
  CHECK(errors_of(x + value("input", "k", 7, {"2"}) + y + node("Add", {"x", "k"}, {"y"})) ==
        "m: node 'y' (Add): error[type-mismatch]: A and B must have one element type, found float32 and int64\n"
        "    A 'x' float32 [2]\n    B 'k' int64 [2]\n    help: convert one of them with Cast\n");
  CHECK(errors_of(x + value("output", "y", 7, {"2"}) + node("Relu", {"x"}, {"y"})) ==
        "m: output 'y': error[type-mismatch]: declared as int64, but computed as float32 [2]\n"
        "    help: correct the declared type, or insert a node Cast before the output\n");
  CHECK(errors_of(x + y + node("Add", {"x"}, {"y"})) ==
        "m: node 'y' (Add): error[wrong-arity]: needs 2 inputs, found 1\n    A 'x' float32 [2]\n"
        "    help: the inputs of Add are: A B\n");
  CHECK(errors_of(x + y + node("Relu", {"x", "x"}, {"y"})).find("has at most 1 input, found 2") != std::string::npos);
  CHECK(errors_of(x + y + node("LeakyRelu", {"x"}, {"y"}, integer("alpha", 1)))
            .find("attribute 'alpha' must be of type float, found int") != std::string::npos);
}

TEST_CASE("negative, too large and undeclared input shapes are errors") {
  std::string relu = node("Relu", {"x"}, {"y"});
  CHECK(errors_of(value("input", "x", 1, {"-2"}) + y + relu) ==
        "m: input 'x': error[malformed-tensor]: a dimension is negative: -2\n");
  CHECK(errors_of(value("input", "x", 1, {"9223372036854775807", "4"}) + y + relu) ==
        "m: input 'x': error[too-large]: [9223372036854775807, 4] is more than can be addressed\n");
  CHECK(errors_of("input { name: 'x' type { tensor_type { elem_type: 1 } } } " + y + relu) ==
        "m: input 'x': error[cannot-infer]: the input's shape is not declared, not even its rank\n"
        "    help: declare it in the model, or give it: --input 'x=[2,3]'\n");
  CHECK(errors_of(value("input", "x", 8, {"2"}) + y + relu) ==
        "m: input 'x': error[unsupported-type]: element type string is not supported\n    help: a compiled model "
        "computes with "
        "numbers: encode strings before the model; strings that the model has as constants may meet label encoders and "
        "comparisons\n");
}

TEST_CASE("models with sizes of 2^31 are refused or imported in little time and memory") {
  auto result = [](const std::string& inputs, const std::string& nodes, int opset) {
    return body(graph_bytes(inputs + "output { name: 'y' } " + nodes, opset));
  };
  const std::string large = "2147483648";
  CHECK(result(value("input", "x", 1, {large, "3"}),
               node("SplitToSequence", {"x"}, {"s"}) + node("SequenceLength", {"s"}, {"y"}), 17)
            .find("error[too-large]: the sequence would have more than 100000 tensors") != std::string::npos);
  CHECK(result(value("input", "x", 1, {"1", large, "2"}), node("DFT", {"x"}, {"y"}), 17)
            .find("error[too-large]: a transform of length 2147483648 is too long") != std::string::npos);
  CHECK(result(value("input", "x", 1, {"1", "1", "3"}) + value("input", "w", 1, {"1", "1", large}),
               node("ConvTranspose", {"x", "w"}, {"y"}), 17)
            .find("error[too-large]") != std::string::npos);
  CHECK(result(value("input", "x", 1, {"1", "c", "2", "2"}) + value("input", "w", 1, {"4", "4", "1", "1"}),
               node("Conv", {"x", "w"}, {"y"}, integer("group", int64_t{1} << 62)), 17)
            .find("error[too-large]") != std::string::npos);
}

TEST_CASE("attributes and sizes of com.microsoft that do not fit are refused") {
  auto refused = [](const std::string& op, const std::vector<std::vector<std::string>>& shapes,
                    const std::string& attributes, const std::string& message) {
    std::string graph = "output { name: 'y' } ";
    std::vector<std::string> inputs;
    for (const auto& dims : shapes) {
      inputs.push_back(fmt::format("x{}", inputs.size()));
      if (dims == std::vector<std::string>{"absent"})
        inputs.back() = "";
      else
        graph += value("input", inputs.back(), op == "GroupQueryAttention" && inputs.size() > 5 ? 6 : 1, dims);
    }
    std::string text = node(op, inputs, {"y"}, attributes);
    text.insert(text.find("op_type"), "domain: 'com.microsoft' ");
    const std::string errors =
        imported(model_bytes(fmt::format("ir_version: 8 opset_import {{ version: 17 }} opset_import {{ domain: "
                                         "'com.microsoft' version: 1 }} graph {{ {} }}",
                                         graph + text)));
    CAPTURE(errors);
    CHECK(errors.find(message) != std::string::npos);
  };
  const std::vector<std::string> absent = {"absent"}, one = {"1"};
  auto heads = [](int64_t queries, int64_t keys) {
    return integer("num_heads", queries) + integer("kv_num_heads", keys);
  };
  refused("GroupQueryAttention", {{"1", "2", "32"}, absent, absent, absent, absent, one, one}, heads(-2, 1),
          "-2 query heads cannot be divided among 1 key heads");
  refused("GroupQueryAttention", {{"1", "2", "32"}, {"1", "8", "n"}, {"1", "2", "16"}, absent, absent, one, one},
          heads(2, 1), "heads of query have 16 elements, those of key n");
  refused("MultiHeadAttention", {{"2", "3", "4"}, {"2", "4", "4"}, {"2", "4", "4"}, {}}, integer("num_heads", 2),
          "bias must have one axis");
  refused("MultiHeadAttention", {{"2", "3", "2", "2147483648", "2"}}, integer("num_heads", 2),
          "packed in [batch, length, heads, 3 or 2, size]");
  refused("Attention", {{"2", "3", "4"}, {"4", "12"}, {"12"}, {"2", "3", "4"}},
          integer("num_heads", 2) + integer("unidirectional", 1), "cannot be broadcast: sizes 4 and 3 differ");
  refused("RotaryEmbedding", {{"1", "2", "4"}, {"1", "2"}, {"3", "0"}, {"3", "0"}}, "",
          "cos_cache must be a matrix with a known number of columns");
  refused("MatMulNBits", {{"1", "16"}, {"1", "1", "8"}, {"1", "1"}},
          integer("N", int64_t{1} << 60) + integer("K", 16) + integer("block_size", 16), "must be in [1, 1073741824]");
}

TEST_CASE("TensorScatter of a scalar is refused") {
  CHECK(errors_of(value("input", "c", 1, {}) + "output { name: 'z' } " + node("TensorScatter", {"c", "c"}, {"z"}), 24)
            .find("past_cache must have an axis for the batch") != std::string::npos);
}

TEST_CASE("Attention with past_key but no past_value is refused") {
  const std::string x = value("input", "q", 1, {"1", "2", "2", "8"}), cache = value("input", "p", 1, {"2", "2"});
  CHECK(body(graph_bytes(x + cache + "output { name: 'y' } " + node("Attention", {"q", "q", "q", "", "p"}, {"y"}), 23))
            .find("past_key and past_value must be given together") != std::string::npos);
}
