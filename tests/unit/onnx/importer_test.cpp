// Whole models: names, constants, symbolic dimensions, shape arithmetic, branches, functions, node order.
#include "support.h"

using namespace dlcc;
using namespace dlcc::frontends;
using namespace dlcc::frontends::onnx;

TEST_CASE("a convolution with bias and activation") {
  std::string graph = value("input", "x", 1, {"1", "2", "4", "4"}) + value("input", "w", 1, {"3", "2", "3", "3"}) +
                      value("input", "b", 1, {"3"}) + value("output", "y", 1, {"1", "3", "4", "4"}) +
                      node("Conv", {"x", "w", "b"}, {"c"}, ints("pads", {1, 1, 1, 1})) + node("Relu", {"c"}, {"y"});
  CHECK(imported(graph_bytes(graph)) == R"(#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 4, 4), float32], %w: Tensor[(3, 2, 3, 3), float32], %b: Tensor[(3), float32], output_names=["y"]) -> Tensor[(1, 3, 4, 4), float32] {
  let %conv2d: Tensor[(1, 3, 4, 4), float32] = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=3, kernel_size=[3, 3]);
  let %c: Tensor[(1, 3, 4, 4), float32] = nn.bias_add(%conv2d, %b);
  nn.relu(%c)
}
)");
}

TEST_CASE("an initializer that is also an input is a constant, and unused ones are ignored") {
  std::string graph = value("input", "x", 7, {"2"}) + value("input", "k", 7, {"2"}) + value("output", "y", 7, {"2"}) +
                      list("k", {3, 4}) + "initializer { name: 'broken' data_type: 7 dims: -3 } " +
                      node("Add", {"x", "k"}, {"y"});
  CHECK(body(graph_bytes(graph)) == "  add(%x, meta[relay.Constant][0])\n");
}

TEST_CASE("an output may be an input, a constant or a repeated value") {
  std::string graph = value("input", "x", 7, {"2"}) + list("k", {3, 4}) + value("output", "x", 7, {"2"}) +
                      value("output", "k", 7, {"2"}) + value("output", "x", 7, {"2"});
  CHECK(body(graph_bytes(graph)) == "  (%x, meta[relay.Constant][0], %x)\n");
}

TEST_CASE("symbolic dimensions stay symbols or get the values of --dim") {
  std::string graph =
      value("input", "x", 1, {"n", ""}) + value("output", "y", 1, {"n", ""}) + node("Relu", {"x"}, {"y"});
  CHECK(imported(graph_bytes(graph)).find("%x: Tensor[(n, x_1), float32]") != std::string::npos);
  std::string fixed = imported(graph_bytes(graph), {.dims = {{"n", 5}, {"x_1", 2}}, .file = "", .folder = ""});
  CHECK(fixed.find("%x: Tensor[(5, 2), float32]") != std::string::npos);
  CHECK(imported(graph_bytes(graph), {.dims = {{"m", 5}}, .file = "", .folder = ""}) ==
        "errors:\nm: error[undefined-value]: --dim m=5: no input has a dimension of this name\n"
        "    help: there are: n, x_1\n");
}

TEST_CASE("symbolic dimensions have the ranges of --dim") {
  std::string graph = value("input", "x", 1, {"n", "h"}) + value("input", "z", 1, {"h_by_8", "n"}) +
                      value("output", "y", 1, {"n", "h"}) + node("Relu", {"x"}, {"y"});
  std::string problem;
  ImportOptions options{.dims = {{"h", *parse_size_range("8..64:8@16", problem)}}, .file = "m", .folder = ""};
  Diagnostics diagnostics;
  auto module = import_onnx(graph_bytes(graph), options, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.str());
  const relay::Function& main = module->functions.at("main");
  CHECK(relay::str(main.params[0]->type) == "Tensor[(n, 8 * h_by_8_), float32]");
  CHECK(relay::str(main.result_type) == relay::str(main.params[0]->type));
  std::vector<std::string> dims;
  for (const InputDim& d : module->dims) dims.push_back(fmt::format("{} {} {}", d.name, d.low(), d.typical));
  CHECK(dims == std::vector<std::string>{"n 1 0", "h 8 16", "h_by_8 1 0"});
  CHECK(module->dims[1].high() == 64);
  CHECK(!module->dims[0].is_bounded());
}

TEST_CASE("shapes that the model computes are folded to constants") {
  std::string graph = value("input", "x", 1, {"2", "3", "4"}) + value("output", "y", 1, {"", ""}) + list("zero", {0}) +
                      list("rest", {-1}) + node("Shape", {"x"}, {"s"}) + node("Gather", {"s", "zero"}, {"n"}) +
                      node("Concat", {"n", "rest"}, {"shape"}, integer("axis", 0)) +
                      node("Reshape", {"x", "shape"}, {"y"});
  CHECK(body(graph_bytes(graph)) == "  reshape(%x, newshape=[2, -1])\n");
}

TEST_CASE("a declared size that inference does not know is checked at run time") {
  std::string start = value("input", "x", 1, {"2", "3"}) + value("input", "s", 7, {"2"});
  const std::string by_input = start + node("Reshape", {"x", "s"}, {"y"});  // the shape is an input
  CHECK(body(graph_bytes(by_input + value("output", "y", 1, {"3", "2"}))) == "  reshape(%x, %s)\n");
  const std::string by_data = value("input", "data", 7, {"2", "100"}) + value("input", "x", 1, {"2", "3"}) +
                              node("ReduceSum", {"data"}, {"s"}, ints("axes", {1}) + integer("keepdims", 0)) +
                              node("Reshape", {"x", "s"}, {"y"});
  CHECK(body(graph_bytes(by_data + value("output", "y", 1, {"3", "2"}), 12)) ==
        "  let %s: Tensor[(2), int64] = sum(%data, axis=[1]);\n"
        "  let %reshape: Tensor[(?1, ?2), float32] = reshape(%x, %s);\n"
        "  match_cast(%reshape, Tensor[(3, 2), float32])\n");
  CHECK(body(graph_bytes(by_data + value("output", "y", 1, {"a", "b"}), 12)) ==
        "  let %s: Tensor[(2), int64] = sum(%data, axis=[1]);\n  reshape(%x, %s)\n");
}

TEST_CASE("sizes that must be equal but are unknown are checked at run time") {
  auto product = [](const std::string& rows) {
    return body(graph_bytes(value("input", "a", 1, {"2", "k"}) + value("input", "b", 1, {rows, "3"}) +
                            "output { name: 'y' } " + node("MatMul", {"a", "b"}, {"y"})));
  };
  CHECK(product("k") == "  nn.matmul(%a, %b)\n");
  CHECK(product("n") ==
        "  let %b_1: Tensor[(k, 3), float32] = match_cast(%b, Tensor[(k, 3), float32]);\n  nn.matmul(%a, %b_1)\n");
  CHECK(product("7") ==
        "  let %a_1: Tensor[(2, 7), float32] = match_cast(%a, Tensor[(2, 7), float32]);\n  nn.matmul(%a_1, %b)\n");
}

TEST_CASE("unsorted nodes are sorted") {
  std::string graph = value("input", "x", 1, {"2"}) + value("output", "y", 1, {"2"}) + node("Exp", {"a"}, {"y"}) +
                      node("Neg", {"x"}, {"a"});
  CHECK(body(graph_bytes(graph)) == "  let %a: Tensor[(2), float32] = negative(%x);\n  exp(%a)\n");
}

// ---- subgraphs ----------------------------------------------------------------------------------------------------

namespace {

std::string branch(const std::string& name, const std::string& op) {
  return fmt::format("attribute {{ name: '{}' type: GRAPH g {{ {} {} }} }} ", name, node(op, {"x"}, {"r"}),
                     value("output", "r", 1, {"2"}));
}

}  // namespace

TEST_CASE("the branches of an If use values of the outer graph") {
  std::string graph = value("input", "c", 9, {}) + value("input", "x", 1, {"2"}) + value("output", "y", 1, {"2"}) +
                      node("If", {"c"}, {"y"}, branch("then_branch", "Exp") + branch("else_branch", "Neg"));
  CHECK(body(graph_bytes(graph)) == "  if (%c) {\n    exp(%x)\n  } else {\n    negative(%x)\n  }\n");
}

TEST_CASE("branches may differ in size, but not in rank") {
  auto result = [](const std::string& name, const std::string& nodes) {
    return fmt::format("attribute {{ name: '{}' type: GRAPH g {{ {} output {{ name: 'r' }} }} }} ", name, nodes);
  };
  const std::string twice = node("Concat", {"x", "x"}, {"r"}, integer("axis", 0));
  const std::string scalar = node("ReduceSum", {"x"}, {"r"}, integer("keepdims", 0));
  auto graph = [&](const std::string& other) {
    return value("input", "c", 9, {}) + value("input", "x", 1, {"n"}) + value("output", "y", 1, {"6"}) +
           node("If", {"c"}, {"y"}, result("then_branch", node("Exp", {"x"}, {"r"})) + result("else_branch", other));
  };
  // The declared size of the output is ignored: the branches determine it.
  const std::string text = imported(graph_bytes(graph(twice)));
  CHECK_MESSAGE(text.find("-> Tensor[(?") != std::string::npos, text);
  CHECK_MESSAGE(text.find("match_cast") == std::string::npos, text);
  const std::string errors = imported(graph_bytes(graph(scalar)));
  CHECK_MESSAGE(errors.find("result 0 is float32 [n] in one branch and float32 [] in the other") != std::string::npos,
                errors);
  CHECK_MESSAGE(errors.find("--dim n=N") != std::string::npos, errors);
}

TEST_CASE("with a constant condition only the taken branch is imported") {
  std::string graph = "initializer { name: 'c' data_type: 9 int32_data: 0 } " + value("input", "x", 1, {"2"}) +
                      value("output", "y", 1, {"2"}) +
                      node("If", {"c"}, {"y"}, branch("then_branch", "Nonsense") + branch("else_branch", "Neg"));
  CHECK(body(graph_bytes(graph)) == "  negative(%x)\n");
}

// ---- functions ----------------------------------------------------------------------------------------------------

namespace {

// A model that calls f.Leak, whose attribute has a default.
std::vector<std::byte> function_model(const std::string& call_attributes) {
  return model_bytes(
      "ir_version: 9 opset_import { version: 17 } opset_import { domain: 'f' version: 1 } "
      "functions { name: 'Leak' domain: 'f' input: 'a' input: 'absent' output: 'b' opset_import { version: 16 } "
      "attribute_proto { name: 'slope' type: FLOAT f: 0.5 } "
      "node { op_type: 'LeakyRelu' input: 'a' output: 't' attribute { name: 'alpha' type: FLOAT ref_attr_name: 'slope' "
      "} } "
      "node { op_type: 'Clip' input: 't' input: 'absent' output: 'b' } } "
      "graph { node { op_type: 'Leak' domain: 'f' input: 'x' output: 'y' " +
      call_attributes + " } " + value("input", "x", 1, {"2"}) + value("output", "y", 1, {"2"}) + " }");
}

}  // namespace

TEST_CASE("small functions are inlined, with attributes, defaults and omitted inputs") {
  CHECK(body(function_model("")) == "  nn.leaky_relu(%x, alpha=0.5f)\n");
  CHECK(body(function_model(number("slope", 0.25f))) == "  nn.leaky_relu(%x)\n");
}

TEST_CASE("a node calls the function of its overload") {
  auto function = [](const char* overload, const char* op) {
    return fmt::format(
        "functions {{ name: 'F' domain: 'f' overload: '{}' input: 'a' output: 'b' "
        "node {{ op_type: '{}' input: 'a' output: 'b' }} }} ",
        overload, op);
  };
  auto model = [&](const char* overload) {
    return model_bytes(
        "ir_version: 10 opset_import { version: 17 } opset_import { domain: 'f' version: 1 } " + function("", "Relu") +
        function("smooth", "Sigmoid") +
        fmt::format("graph {{ node {{ op_type: 'F' domain: 'f' overload: '{}' input: 'x' output: 'y' }} ", overload) +
        value("input", "x", 1, {"2"}) + value("output", "y", 1, {"2"}) + " }");
  };
  CHECK(body(model("")) == "  nn.relu(%x)\n");
  CHECK(body(model("smooth")) == "  sigmoid(%x)\n");
  CHECK(body(model("other")).find("error[unsupported-operator]") != std::string::npos);
}

TEST_CASE("models of the first IR versions have no operator sets, and initializers are inputs") {
  const std::string graph = value("input", "x", 1, {"2"}) + value("input", "w", 1, {"2"}) +
                            value("output", "y", 1, {"2"}) +
                            "initializer { name: 'w' data_type: 1 dims: 2 float_data: [1, 2] } " +
                            node("Add", {"x", "w"}, {"y"}, integer("axis", 0));
  for (int version : {1, 2}) {
    CAPTURE(version);
    CHECK(body(model_bytes(fmt::format("ir_version: {} graph {{ {} }}", version, graph))) ==
          "  add(%x, meta[relay.Constant][0])\n");
  }
}

TEST_CASE("nodes without names, with equal names and with names of values") {
  std::string graph = value("input", "x", 1, {"2"}) + value("output", "y", 1, {"2"});
  for (const auto& [op, name, from, to] : {std::tuple("Relu", "n", "x", "a"),
                                           {"Tanh", "n", "a", "x2"},
                                           {"Exp", "", "x2", "x.2"},
                                           {"Abs", "x", "x.2", "y"}})
    graph += fmt::format("node {{ op_type: '{}' name: '{}' input: '{}' output: '{}' }} ", op, name, from, to);
  const std::string text = body(graph_bytes(graph));
  for (const char* op : {"nn.relu(%x)", "tanh(%a)", "exp(", "abs("}) CHECK(text.find(op) != std::string::npos);
}

TEST_CASE("a function that calls itself is an error") {
  auto bytes = model_bytes(
      "ir_version: 9 opset_import { version: 17 } opset_import { domain: 'f' version: 1 } "
      "functions { name: 'F' domain: 'f' input: 'a' output: 'b' node { op_type: 'F' domain: 'f' input: 'a' output: 'b' "
      "} } "
      "graph { node { op_type: 'F' domain: 'f' input: 'x' output: 'y' } " +
      value("input", "x", 1, {"2"}) + value("output", "y", 1, {"2"}) + " }");
  CHECK(body(bytes) == "errors:\nm: node 'y' (f.F): node 'b' (f.F): error[cyclic-graph]: the function calls itself\n");
}

TEST_CASE("a negative declared size of an output is ignored") {
  const std::string graph =
      value("input", "x", 1, {"2", "3"}) + value("output", "y", 1, {"-4", "3"}) + node("Relu", {"x"}, {"y"});
  CHECK(body(graph_bytes(graph)) == "  nn.relu(%x)\n");
}

TEST_CASE("a declared shape with more elements than 63 bits is an error") {
  const std::string graph = value("input", "x", 1, {"1", "3", "4"}) + value("input", "axes", 7, {"1"}) +
                            value("output", "y", 1, {"3", "4611686018427387904"}) +
                            node("Squeeze", {"x", "axes"}, {"y"});
  CHECK(body(graph_bytes(graph)).starts_with("errors:"));
}

TEST_CASE("a declared input size of -1 becomes a symbol") {
  const std::string graph =
      value("input", "x", 1, {"-1", "3"}) + value("output", "y", 1, {"-1", "3"}) + node("Relu", {"x"}, {"y"});
  const std::string text = imported(graph_bytes(graph));
  CHECK_MESSAGE(text.find("def @main(%x: Tensor[(x_0, 3), float32]") != std::string::npos, text);
}

TEST_CASE("names of dimensions are those of no other symbol") {
  auto inputs = [](const std::string& row_of_x, const std::string& row_of_y) {
    return imported(graph_bytes(value("input", "x", 1, {row_of_x, "3"}) + value("input", "y", 1, {row_of_y, "3"}) +
                                node("Add", {"x", "y"}, {"z"}) + "output { name: 'z' } "));
  };
  auto has = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  // Without a name, with the name that the first would have, of inferred symbols, and of names that become equal.
  CHECK(has(inputs("-1", "x_0"), "(%x: Tensor[(x_0_, 3), float32], %y: Tensor[(x_0, 3), float32]"));
  CHECK(has(inputs("?", "?1"), "(%x: Tensor[(x_0, 3), float32], %y: Tensor[(d_1, 3), float32]"));
  CHECK(has(inputs("?", "?"), "(%x: Tensor[(x_0, 3), float32], %y: Tensor[(y_0, 3), float32]"));
  CHECK(has(inputs("a b", "a-b"), "(%x: Tensor[(a_b, 3), float32], %y: Tensor[(a_b_, 3), float32]"));
  CHECK(has(inputs("a b", "a_b"), "(%x: Tensor[(a_b_, 3), float32], %y: Tensor[(a_b, 3), float32]"));
  CHECK(has(inputs("a b", "a b"), "(%x: Tensor[(a_b, 3), float32], %y: Tensor[(a_b, 3), float32]"));
}
