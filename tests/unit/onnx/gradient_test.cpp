// Gradient: which part of the graph it differentiates, and at which values. The rules of operators are tested in Relay.
#include "evaluated.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int f32 = 1;

std::string strings(const std::string& name, const std::vector<std::string>& values) {
  std::string text = fmt::format("attribute {{ name: '{}' type: STRINGS ", name);
  for (const std::string& v : values) text += fmt::format("strings: '{}' ", v);
  return text + "} ";
}

struct GradientNode {
  std::vector<std::string> xs;
  std::string y;
  std::vector<std::string> outputs;
  std::vector<std::string> zs = {};
  std::vector<std::string> inputs = {};  // the tensors of these names if empty

  std::string str() const {
    std::vector<std::string> given = inputs.empty() ? xs : inputs;
    if (inputs.empty()) given.insert(given.end(), zs.begin(), zs.end());
    return node("Gradient", given, outputs,
                "domain: 'ai.onnx.preview.training' " + strings("xs", xs) + text("y", y) +
                    (zs.empty() ? "" : strings("zs", zs)));
  }
};

std::vector<std::byte> model(const std::string& graph, const std::string& functions = "") {
  return model_bytes(
      "ir_version: 9 opset_import { version: 17 } opset_import { domain: 'ai.onnx.preview.training' version: 1 } "
      "opset_import { domain: 'f' version: 1 } " +
      functions + "graph { " + graph + "}");
}

std::string inputs(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += value("input", name, f32, {"2"});
  return text;
}
std::string output(const std::string& name) { return value("output", name, f32, {"2"}); }

// y = x^2 z
const std::string square = node("Mul", {"x", "x"}, {"h"}), product = node("Mul", {"h", "z"}, {"y"});
const std::vector<Constant> two_args = {floats({2}, {1, 2}), floats({2}, {10, 20})};

std::string run(const std::string& nodes, const std::string& outputs,
                const std::vector<std::string>& names = {"x", "z"}, const std::vector<Constant>& args = two_args) {
  return evaluated(model(inputs(names) + nodes + outputs), args);
}

std::string error(const std::string& nodes) { return imported(model(inputs({"x", "z"}) + nodes + output("dx"))); }

}  // namespace

TEST_CASE("derivatives with respect to inputs and to intermediate tensors") {
  const std::string nodes = square + product;
  CHECK(run(nodes + GradientNode{{"x", "z"}, "y", {"dx", "dz"}}.str(), output("dx") + output("dz")) ==
        "(2): 20 80\n(2): 1 4");
  CHECK(run(nodes + GradientNode{{"x"}, "y", {"dx"}, {"z"}}.str(), output("dx")) == "(2): 20 80");
  CHECK(run(nodes + GradientNode{{"h", "z"}, "y", {"", "dz"}}.str(), output("dz")) == "(2): 1 4");
  CHECK(run(nodes + GradientNode{{"h"}, "y", {"dh"}, {"z"}}.str(), output("dh")) == "(2): 10 20");
  CHECK(run(nodes + GradientNode{{"z"}, "h", {"dz"}}.str(), output("dz")) == "(2): 0 0");
  CHECK(run(GradientNode{{"x", "z"}, "y", {"dx", "dz"}}.str() + nodes, output("dx") + output("y")) ==
        "(2): 20 80\n(2): 10 80");
}

TEST_CASE("the derivatives are those at the values of the inputs") {
  const std::string nodes = square + product + node("Add", {"x", "z"}, {"other"});
  CHECK(run(nodes + GradientNode{{"x", "z"}, "y", {"dx", "dz"}, {}, {"z", "x"}}.str(), output("dx") + output("dz")) ==
        "(2): 20 80\n(2): 100 400");
  CHECK(run(nodes + GradientNode{{"h"}, "y", {"dh"}, {"z"}, {"x", "other"}}.str(), output("dh")) == "(2): 11 22");
}

TEST_CASE("derivatives with respect to initializers, and derivatives of derivatives") {
  const std::string weight = "initializer { name: 'w' data_type: 1 dims: 2 float_data: [3, 4] } ";
  const std::string nodes = weight + node("Mul", {"w", "w"}, {"h"}) + node("Mul", {"h", "x"}, {"y"});
  CHECK(run(nodes + GradientNode{{"w"}, "y", {"dw"}, {"x"}}.str(), output("dw"), {"x"}, {floats({2}, {1, 2})}) ==
        "(2): 6 16");
  const std::string second =
      GradientNode{{"w", "x"}, "y", {"dw", ""}}.str() + GradientNode{{"w", "x"}, "dw", {"dww", "dwx"}}.str();
  CHECK(run(nodes + second, output("dww") + output("dwx"), {"x"}, {floats({2}, {1, 2})}) == "(2): 2 4\n(2): 6 8");
}

TEST_CASE("derivatives through branches, within branches, and within functions") {
  const std::string branches =
      node("ReduceSum", {"z"}, {"s"}, integer("keepdims", 0)) + node("Greater", {"s", "s"}, {"c"}) +
      node("If", {"c"}, {"y"},
           subgraph("then_branch", node("Neg", {"x"}, {"a"}) + value("output", "a", f32, {"2"})) +
               subgraph("else_branch", node("Mul", {"x", "z"}, {"b"}) + value("output", "b", f32, {"2"})));
  CHECK(run(branches + GradientNode{{"x"}, "y", {"dx"}, {"z"}}.str(), output("dx")) == "(2): 10 20");
  const std::string within =
      square + product + node("ReduceSum", {"z"}, {"s"}, integer("keepdims", 0)) + node("Equal", {"s", "s"}, {"c"}) +
      node("If", {"c"}, {"r"},
           subgraph("then_branch", GradientNode{{"x"}, "y", {"dx"}, {"z"}}.str() + output("dx")) +
               subgraph("else_branch", node("Neg", {"x"}, {"b"}) + value("output", "b", f32, {"2"})));
  CHECK(run(within, output("r")) == "(2): 20 80");
  const std::string functions =
      "functions { name: 'F' domain: 'f' input: 'x' input: 'z' output: 'dx' opset_import { "
      "version: 17 } opset_import { domain: 'ai.onnx.preview.training' version: 1 } " +
      square + product + GradientNode{{"x"}, "y", {"dx"}, {"z"}}.str() + "} ";
  CHECK(evaluated(model(inputs({"x", "z"}) + node("F", {"x", "z"}, {"r"}, "domain: 'f' ") + output("r"), functions),
                  two_args) == "(2): 20 80");
}

TEST_CASE("derivatives of a tensor of a branch through tensors of the graph around it") {
  // In the branch y = -(x^2 z), of which x^2 is computed outside.
  const std::string nodes =
      square + node("ReduceSum", {"z"}, {"s"}, integer("keepdims", 0)) + node("Equal", {"s", "s"}, {"c"}) +
      node("If", {"c"}, {"r"},
           subgraph("then_branch", product + node("Neg", {"y"}, {"v"}) + GradientNode{{"x"}, "v", {"dx"}, {"z"}}.str() +
                                       output("dx")) +
               subgraph("else_branch", node("Neg", {"x"}, {"b"}) + value("output", "b", f32, {"2"})));
  CHECK(run(nodes, output("r")) == "(2): -20 -80");
}

TEST_CASE("some of the outputs of a node may be given") {
  const std::string nodes = node("Split", {"x"}, {"a", "b"}, integer("axis", 0)) + node("Mul", {"a", "b"}, {"y"});
  const std::string outputs = value("output", "dx", f32, {"2"}) + value("output", "da", f32, {"1"});
  CHECK(evaluated(model(inputs({"x"}) + nodes + GradientNode{{"x", "a"}, "y", {"dx", "da"}}.str() + outputs),
                  {floats({2}, {3, 5})}) == "(2): 0 3\n(1): 5");
}

TEST_CASE("derivatives through calls of functions") {
  std::string body = node("Mul", {"a", "b"}, {"t1"});
  for (int k = 1; k < 40; ++k) body += node("Identity", {fmt::format("t{}", k)}, {fmt::format("t{}", k + 1)});
  const std::string functions =
      "functions { name: 'F' domain: 'f' input: 'a' input: 'b' output: 't40' "
      "opset_import { version: 17 } " +
      body + "} ";
  auto call = [](const char* a, const char* b, const char* c) { return node("F", {a, b}, {c}, "domain: 'f' "); };
  CHECK(evaluated(model(inputs({"x", "z"}) + call("x", "z", "h") + call("h", "x", "y") +
                            GradientNode{{"x", "z"}, "y", {"dx", "dz"}}.str() + output("dx") + output("dz"),
                        functions),
                  two_args) == "(2): 20 80\n(2): 1 4");
}

TEST_CASE("a node with random numbers has the same ones in the derivative") {
  const std::string ratio =
      "initializer { name: 'ratio' data_type: 1 float_data: 0.5 } "
      "initializer { name: 'training' data_type: 9 int32_data: 1 } ";
  const std::string nodes = ratio + node("Dropout", {"x", "ratio", "training"}, {"y"}) +
                            node("Dropout", {"x", "ratio", "training"}, {"other"}) +
                            GradientNode{{"x"}, "y", {"dx"}}.str() + node("Sub", {"y", "dx"}, {"difference"});
  std::vector<float> ones(64, 1);
  const std::string zeros =
      evaluated(model(value("input", "x", f32, {"64"}) + nodes + value("output", "difference", f32, {"64"})),
                {floats({64}, ones)});
  std::string expected = "(64):";
  for (int k = 0; k < 64; ++k) expected += " 0";
  CHECK(zeros == expected);
}

TEST_CASE("each call of a function has random numbers of its own, also in the derivative") {
  const std::string functions =
      "functions { name: 'F' domain: 'f' input: 'a' output: 'b' opset_import { version: 17 } " +
      node("RandomUniformLike", {"a"}, {"u"}) + node("Mul", {"u", "a"}, {"b"}) + "} ";
  auto call = [](const char* result) { return node("F", {"x"}, {result}, "domain: 'f' "); };
  // The derivative of u x is u, which is u x for x = 1.
  const std::string nodes = call("y") + call("other") + GradientNode{{"x"}, "y", {"dx"}}.str() +
                            GradientNode{{"x"}, "other", {"dother"}}.str() + node("Sub", {"y", "dx"}, {"d1"}) +
                            node("Sub", {"other", "dother"}, {"d2"});
  CHECK(evaluated(model(inputs({"x"}) + nodes + output("d1") + output("d2"), functions), {floats({2}, {1, 1})}) ==
        "(2): 0 0\n(2): 0 0");
}

TEST_CASE("gradients that are not possible are located errors") {
  auto says = [](const std::string& nodes, const std::string& message) {
    const std::string text = error(nodes);
    CAPTURE(text);
    CHECK(text.find(message) != std::string::npos);
  };
  const std::string nodes = square + product;
  says(nodes + GradientNode{{"x"}, "w", {"dx"}, {"z"}}.str(), "nothing defines 'w'");
  says(nodes + GradientNode{{"v"}, "y", {"dx"}, {"z"}, {"x", "z"}}.str(), "nothing defines 'v'");
  says(nodes + GradientNode{{}, "y", {"dx"}, {}, {"x"}}.str(), "attribute 'xs' must name at least one tensor");
  says(nodes + GradientNode{{"x", "x"}, "y", {"dx"}}.str(), "names 'x', which is named before");
  says(nodes + GradientNode{{"x"}, "y", {"dx"}, {"z"}, {"x"}}.str(),
       "needs an input for each name in 'xs' and 'zs', 2");
  says(nodes + GradientNode{{"x"}, "y", {"dx", "dz"}, {"z"}}.str(), "at most an output for each in 'xs', 1");
  says(nodes + node("Shape", {"x"}, {"s"}) + GradientNode{{"s"}, "y", {"dx"}}.str(), "only tensors of floats");
  says(nodes + node("Shape", {"x"}, {"s"}) + GradientNode{{"x"}, "s", {"dx"}}.str(), "only tensors of floats");
  says(nodes + node("Det", {"m"}, {"d"}) + node("Concat", {"x", "z"}, {"v"}, integer("axis", 0)) +
           list("shape", {2, 2}) + node("Reshape", {"v", "shape"}, {"m"}) +
           GradientNode{{"x"}, "d", {"dx"}, {"z"}}.str(),
       "node 'd' (Det)");
  says(node("Mul", {"dx", "x"}, {"y"}) + GradientNode{{"x"}, "y", {"dx"}}.str(), "cyclic-graph");
}

}  // namespace dlcc::frontends::onnx
