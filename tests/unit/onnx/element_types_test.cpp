// Element types: those that an operator set does not have yet, bools where an operator computes, types that differ
// between the operands of one operator.
#include "frontends/onnx/element_types.h"
#include "evaluated.h"

using namespace dlcc;
using namespace dlcc::frontends;
using namespace dlcc::frontends::onnx;

namespace {

constexpr int float32 = 1, int8 = 3, int64 = 7, boolean = 9, bfloat16 = 16, float8 = 17, int4 = 22;

std::string diagnostics_of(const std::vector<std::byte>& bytes) {
  Diagnostics d;
  CHECK(import_onnx(bytes, {.file = "m"}, d));
  return d.str();
}

Constant bools(std::vector<int64_t> shape, const std::vector<uint8_t>& values) {
  return Constant::of<uint8_t>(dtype::boolean, std::move(shape), values);
}

// The result of a model of one node, whose inputs are given at run time.
std::string result_of(const std::string& op, const std::vector<Constant>& args, int opset,
                      const std::string& attributes = "") {
  std::string graph = "output { name: 'y' } ";
  std::vector<std::string> inputs;
  for (const Constant& arg : args) {
    std::vector<std::string> dims;
    for (int64_t size : arg.shape()) dims.push_back(std::to_string(size));
    inputs.push_back(fmt::format("x{}", inputs.size()));
    graph += value("input", inputs.back(), onnx_number(arg.dtype()), dims);
  }
  return evaluated(graph_bytes(graph + node(op, inputs, {"y"}, attributes), opset), args);
}

}  // namespace

TEST_CASE("a type that only later operator sets permit is a warning, once for each operator and type") {
  const std::string a = value("input", "a", int8, {"2"}), y = value("output", "y", int8, {"2"});
  const std::string sums = node("Add", {"a", "a"}, {"s"}) + node("Add", {"s", "a"}, {"y"});
  CHECK(diagnostics_of(graph_bytes(a + y + sums, 13)) ==
        "m: node 's' (Add): warning[later-type]: A is int8, which Add may have in operator sets from 14; the "
        "model declares 13\n"
        "    help: it is compiled as operator set 14 defines it, but other programs may refuse the model: declare "
        "operator set 14, or cast to another type before the node\n");
  CHECK(diagnostics_of(graph_bytes(a + y + sums, 14)).empty());
  const std::string both = node("Add", {"a", "a"}, {"s"}) + node("Sub", {"s", "a"}, {"y"});
  CHECK(diagnostics_of(graph_bytes(a + y + both, 7)).find("node 'y' (Sub)") != std::string::npos);
}

TEST_CASE("a result of a later type is a warning, too") {
  const std::string x = value("input", "x", float32, {"2"}), y = value("output", "y", bfloat16, {"2"});
  const std::string graph = x + y + node("Cast", {"x"}, {"y"}, integer("to", bfloat16));
  CHECK(
      diagnostics_of(graph_bytes(graph, 9))
          .starts_with("m: node 'y' (Cast): warning[later-type]: its result is bfloat16, which Cast may have in "
                       "operator sets from 13; the model declares 9\n"));
  CHECK(diagnostics_of(graph_bytes(graph, 13)).empty());
}

TEST_CASE("the operator set of a type may depend on the input") {
  CHECK(operator_set_with_type("Pow", 0, dtype::bf16) == 13);
  CHECK(operator_set_with_type("Pow", 1, dtype::bf16) == 15);
  CHECK(operator_set_with_type("MatMul", 1, dtype::i32) == 9);
  CHECK(operator_set_with_type("ai.onnx.ml.LabelEncoder", 0, dtype::f64) == 4);
  CHECK_FALSE(operator_set_with_type("Add", 0, dtype::f32));
  CHECK_FALSE(operator_set_with_type("TopK", 1, dtype::i64));
  CHECK_FALSE(operator_set_with_type("Relu", 0, dtype::u8));
}

TEST_CASE("scattered bools are combined as 0 and 1") {
  const auto scatter = [](const char* reduction) {
    return result_of("ScatterElements", {bools({4}, {1, 0, 1, 0}), integers({3}, {1, 1, 2}), bools({3}, {1, 1, 0})}, 18,
                     text("reduction", reduction));
  };
  CHECK(scatter("add") == "(4): 1 1 1 0");
  CHECK(scatter("mul") == "(4): 1 0 0 0");
  CHECK(scatter("max") == "(4): 1 1 1 0");
  CHECK(scatter("min") == "(4): 1 0 0 0");
}

TEST_CASE("an interpolated bool is true where a true one contributes") {
  const std::string scales = "initializer { name: 's' data_type: 1 dims: 3 float_data: [1, 1, 2] } ";
  const std::string x = value("input", "x", boolean, {"1", "1", "3"}), y = "output { name: 'y' } ";
  CHECK(evaluated(graph_bytes(x + y + scales + node("Resize", {"x", "", "s"}, {"y"}, text("mode", "linear")), 19),
                  {bools({1, 1, 3}, {0, 0, 1})}) == "(1, 1, 6): 0 0 0 1 1 1");
  CHECK(result_of("GridSample", {bools({1, 1, 1, 2}, {0, 1}), floats({1, 1, 2, 2}, {-1, 0, 0, 0})}, 20) ==
        "(1, 1, 1, 2): 0 1");
}

TEST_CASE("overlapping bools of Col2Im are added up as 0 and 1") {
  const std::string x = value("input", "x", boolean, {"1", "2", "2"}), y = "output { name: 'y' } ";
  const std::string sizes = list("image", {1, 3}) + list("block", {1, 2});
  CHECK(evaluated(graph_bytes(x + y + sizes + node("Col2Im", {"x", "image", "block"}, {"y"}), 18),
                  {bools({1, 2, 2}, {0, 1, 1, 0})}) == "(1, 1, 1, 3): 0 1 0");
}

TEST_CASE("values of an Attention may have another type than queries and keys") {
  const Constant query = floats({1, 1, 1, 2}, {0, 0}), key = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  CHECK(result_of("Attention", {query, key, Constant::of<uint16_t>(dtype::f16, {1, 1, 2, 1}, {0x3c00, 0x4200})}, 23) ==
        "(1, 1, 1, 1): 2");
  // Values beyond float16.
  const Constant none = Constant::of<uint16_t>(dtype::f16, {1, 1, 2, 1}, {0, 0});
  CHECK(result_of("Attention", {none, none, floats({1, 1, 2, 1}, {1e5, -1e5})}, 23) == "(1, 1, 2, 1): 0 0");
}

TEST_CASE("elements of 4 bits that are moved along axes which a run gives have the declared sizes") {
  const std::string x = value("input", "x", int4, {"2"}), axes = value("input", "axes", int64, {"1"});
  const std::string y = value("output", "y", int4, {"2", "1"});
  CHECK(body(graph_bytes(x + axes + y + node("Unsqueeze", {"x", "axes"}, {"y"}), 21)) ==
        "  let %cast: Tensor[(2), int8] = cast(%x, dtype=\"int8\");\n"
        "  let %expand_dims: Tensor[(?1, ?2), int8] = expand_dims(%cast, %axes);\n"
        "  let %expand_dims_1: Tensor[(2, 1), int8] = match_cast(%expand_dims, Tensor[(2, 1), int8]);\n"
        "  cast(%expand_dims_1, dtype=\"int4\")\n");
}

TEST_CASE("Dropout of 8-bit floats, decided when the model runs") {
  const std::string x = value("input", "x", float8, {"2"}), trains = value("input", "t", boolean, {});
  CHECK(evaluated(graph_bytes(x + trains + "output { name: 'y' } " + node("Dropout", {"x", "", "t"}, {"y"}), 22),
                  {Constant::of<uint8_t>(DType::float8_e4m3fn_, {2}, {0x38, 0x40}), truth(false)}) == "(2): 1 2");
}

TEST_CASE("QuantizeLinear divides integers exactly") {
  const auto int32s = [](std::vector<int64_t> shape, const std::vector<int32_t>& values) {
    return Constant::of<int32_t>(dtype::i32, std::move(shape), values);
  };
  const Constant one = Constant::of<int8_t>(dtype::i8, {}, {1});
  CHECK(result_of("QuantizeLinear", {int32s({3}, {7, 10, -25}), int32s({}, {4}), one}, 19) == "(3): 3 3 -5");
}

TEST_CASE("DynamicQuantizeLinear of zeros has the scale 1") {
  const std::string x = value("input", "x", float32, {"2"});
  CHECK(evaluated(graph_bytes(x + "output { name: 'y' } output { name: 's' } output { name: 'z' } " +
                              node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"})),
                  {floats({2}, {0, 0})}) == "(2): 0 0\n(): 1\n(): 0");
}

TEST_CASE("operators of tensors without elements") {
  CHECK(result_of("Hardmax", {floats({0, 2}, {})}, 13) == "(0, 2):");
  CHECK(result_of("Hardmax", {floats({2, 0}, {})}, 11) == "(2, 0):");
  CHECK(result_of("Compress", {floats({2, 0}, {}), bools({0}, {})}, 11, integer("axis", 1)) == "(2, 0):");
}

TEST_CASE("an attribute that names an unknown element type is an error") {
  CHECK(ImportedNode{"Cast", 28, {"x"}, integer("to", 28)}.says(
      "the element type float6e3m2 of attribute 'to' is not supported"));
  CHECK(ImportedNode{"Cast", 13, {"x"}, integer("to", (int64_t{1} << 32) + 1)}.says(
      "the element type number 4294967297 of attribute 'to' is not supported"));
}

TEST_CASE("the sizes of Split may be floats in operator set 1") {
  const std::string sizes = "initializer { name: 's' data_type: 1 dims: 2 float_data: [1, 2] } ";
  const std::string outputs = "output { name: 'y' } output { name: 'z' } ";
  CHECK(evaluated(graph_bytes(
                      value("input", "x", float32, {"3"}) + outputs + sizes + node("Split", {"x", "s"}, {"y", "z"}), 1),
                  {floats({3}, {1, 2, 3})}) == "(1): 1\n(2): 2 3");
}
