// Functions of models: large ones that several nodes call in the same way become Relay functions, others are inlined.
#include "relay/shared_calls.h"
#include "support.h"

using namespace dlcc;
using namespace dlcc::frontends::onnx;

namespace {

constexpr int64_t large = relay::least_operations;

// The function f.F of operands a and s. Its first node is given, and `operations` - 1 nodes follow.
std::string function(const std::string& first, int64_t operations = large) {
  std::string text = "functions { name: 'F' domain: 'f' input: 'a' input: 's' output: 'y' " + first;
  for (int64_t k = 1; k < operations; ++k)
    text += node("Softmax", {fmt::format("t{}", k)}, {k + 1 < operations ? fmt::format("t{}", k + 1) : "y"});
  return text + "} ";
}

std::string call(const std::vector<std::string>& inputs, const std::string& output,
                 const std::string& attributes = "") {
  return node("F", inputs, {output}, "domain: 'f' " + attributes);
}

std::string import(const std::string& functions, const std::string& graph, const std::string& rows = "2") {
  return imported(model_bytes("ir_version: 9 opset_import { version: 17 } opset_import { domain: 'f' version: 1 } " +
                              functions + "graph { " + value("input", "x", 1, {rows, "3"}) + graph +
                              value("output", "y", 1, {rows, "3"}) + "}"));
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

int functions_in(const std::string& module) { return count(module, "def @") - 1; }

const std::string scaling = node("Mul", {"a", "s"}, {"t1"});
const std::string twice = call({"x", "x"}, "m") + call({"m", "m"}, "y");

}  // namespace

TEST_CASE("a large function with two calls becomes a Relay function, others are inlined") {
  const std::string module = import(function(scaling), twice);
  CHECK(functions_in(module) == 1);
  CHECK(count(module, "@F_0(") == 3);
  CHECK(functions_in(import(function(scaling, large - 1), twice)) == 0);
  CHECK(functions_in(import(function(scaling), call({"x", "x"}, "y"))) == 0);
}

TEST_CASE("calls with different operand types, constants or attributes become different functions") {
  const std::string one = "initializer { name: 'one' data_type: 1 float_data: 1 } ";
  const std::string two = "initializer { name: 'two' data_type: 1 float_data: 2 } ";
  const std::string same = import(function(scaling), one + call({"x", "one"}, "m") + call({"m", "one"}, "y"));
  CHECK(functions_in(same) == 1);
  CHECK(count(same, "nn.softmax(") == large - 1);
  const std::string different =
      import(function(scaling), one + two + call({"x", "one"}, "m") + call({"m", "two"}, "y"));
  CHECK(functions_in(different) == 0);

  const std::string row = node("ReduceSum", {"x"}, {"row"});
  const std::string types = row + call({"x", "x"}, "m") + call({"x", "row"}, "n") + node("Add", {"m", "n"}, {"y"});
  CHECK(functions_in(import(function(scaling), types)) == 2);

  const std::string leaky =
      "node { op_type: 'LeakyRelu' input: 'a' output: 't1' attribute { name: 'alpha' type: FLOAT "
      "ref_attr_name: 'slope' } } attribute: 'slope' ";
  const std::string slopes = call({"x"}, "m", number("slope", 0.25f)) + call({"m"}, "n", number("slope", 0.5f)) +
                             call({"n"}, "y", number("slope", 0.5f));
  const std::string attributes = import(function(leaky), slopes);
  CHECK(functions_in(attributes) == 2);
  CHECK(count(attributes, "nn.leaky_relu(") == 2);
}

TEST_CASE("functions whose operands determine sizes and functions with random numbers are inlined") {
  const std::string sizes = node("Shape", {"x"}, {"sizes"});
  const std::string reshape = import(function(node("Reshape", {"a", "s"}, {"t1"})),
                                     sizes + call({"x", "sizes"}, "m") + call({"m", "sizes"}, "y"), "n");
  CHECK(functions_in(reshape) == 0);
  const std::string random = import(function(node("RandomNormalLike", {"a"}, {"t1"})), twice, "n");
  CHECK(functions_in(random) == 0);
  CHECK(count(random, "stream=1") == 1);
}

TEST_CASE("functions of sequences and optionals are inlined") {
  const std::string first = "initializer { name: 'first' data_type: 7 int64_data: 0 } ";
  const std::string lists = first + node("Relu", {"x"}, {"z"}) + node("SequenceConstruct", {"x"}, {"a"}) +
                            node("SequenceConstruct", {"z", "x"}, {"b"}) + call({"a", "first"}, "m") +
                            call({"b", "first"}, "n") + node("Add", {"m", "n"}, {"y"});
  const std::string elements = import(function(node("SequenceAt", {"a", "s"}, {"t1"})), lists);
  CHECK(functions_in(elements) == 0);
  CHECK(count(elements, "nn.softmax(%x") == 1);
  CHECK(count(elements, "nn.softmax(%z") == 1);
  const std::string optionals = node("Relu", {"x"}, {"z"}) + node("Optional", {"x"}, {"a"}) +
                                node("Optional", {"z"}, {"b"}) + call({"a"}, "m") + call({"b"}, "n") +
                                node("Add", {"m", "n"}, {"y"});
  CHECK(functions_in(import(function(node("OptionalGetElement", {"a"}, {"t1"})), optionals)) == 0);
}

TEST_CASE("a problem in a function is reported once") {
  const std::string errors = import(function(node("Conv", {"a"}, {"t1"})), twice);
  CHECK(count(errors, "error[") == 1);
  CHECK(errors.find("m: function 'F': node 't1' (Conv): error[wrong-arity]") != std::string::npos);
}

TEST_CASE("a chain of 60 functions, each calling the next twice, does not grow exponentially") {
  // Without a second operand, or with one whose elements must be known in the functions.
  auto chain = [](const std::string& leaf, const std::string& second) {
    std::string text;
    for (int k = 0; k < 60; ++k) {
      const std::string next = k == 59 ? leaf : fmt::format("F{}", k + 1), domain = k == 59 ? "" : "domain: 'f' ";
      text += fmt::format("functions {{ name: 'F{}' domain: 'f' input: 'a' input: 's' output: 'c' {}{}}} ", k,
                          node(next, {"a", second}, {"b"}, domain), node(next, {"b", second}, {"c"}, domain));
    }
    const std::string sizes = node("Shape", {"x"}, {"sizes"});
    return import(text, sizes + node("F0", {"x", second.empty() ? "" : "sizes"}, {"y"}, "domain: 'f' "), "n");
  };
  // Each group of four functions has 16 operations and calls the next group; the first function is called once.
  CHECK(functions_in(chain("Relu", "")) == 14);
  CHECK(chain("Reshape", "s").find("error[too-large]: functions expand to too many nodes") != std::string::npos);
}

TEST_CASE("an input that a call omits is omitted in subgraphs of the function, too") {
  auto arm = [](const std::string& name, const std::string& nodes, const std::string& output) {
    return fmt::format("attribute {{ name: '{}' type: GRAPH g {{ {} output {{ name: '{}' }} }} }} ", name, nodes,
                       output);
  };
  const std::string branch = node("If", {"c"}, {"y"},
                                  arm("then_branch", node("Clip", {"x", "low", "high"}, {"p"}), "p") +
                                      arm("else_branch", node("Relu", {"x"}, {"q"}), "q"));
  const std::string text = imported(
      model_bytes("ir_version: 9 opset_import { version: 17 } opset_import { domain: 'f' version: 1 } "
                  "functions { name: 'F' domain: 'f' input: 'c' input: 'x' input: 'low' input: 'high' output: 'y' " +
                  branch + "} graph { " + value("input", "c", 9, {}) + value("input", "x", 1, {"2"}) +
                  value("input", "h", 1, {}) + call({"c", "x", "", "h"}, "y") + "output { name: 'y' } }"));
  CHECK_MESSAGE(text.find("minimum(%x, ") != std::string::npos, text);
}
