// Sizes that must be equal and whose names do not tell it: models are imported, and a run checks them.
#include "evaluated.h"

using namespace dlcc;
using namespace dlcc::frontends::onnx;

namespace {

constexpr int f32 = 1, i64 = 7;
const std::string y = "output { name: 'y' } ";
const std::string mismatch = fmt::format("status {}", static_cast<int>(tensor::Status::shape_mismatch));

std::string reals(const std::string& name, const std::vector<float>& v) {
  return fmt::format("attribute {{ name: '{}' type: FLOATS floats: [{}] }} ", name, fmt::join(v, ", "));
}

// A node of another domain.
std::string evaluated_in(const std::string& domain, int version, const std::string& graph,
                         const std::vector<Constant>& args) {
  return evaluated(model_bytes(fmt::format("ir_version: 8 opset_import {{ version: 17 }} opset_import {{ domain: '{}' "
                                           "version: {} }} graph {{ {} }}",
                                           domain, version, graph)),
                   args);
}

}  // namespace

TEST_CASE("models of ai.onnx.ml take any declared number of features") {
  auto result = [](const std::string& op, const std::string& attributes, int64_t features) {
    return evaluated_in(
        "ai.onnx.ml", 1,
        value("input", "x", f32, {"n", "features"}) + node(op, {"x"}, {"y"}, "domain: 'ai.onnx.ml' " + attributes) + y,
        {counting({2, features})});
  };
  const std::string scaler = reals("offset", {1, 2}) + reals("scale", {10, 100});
  CHECK(result("Scaler", scaler, 2) == "(2, 2): -10 -100 10 100");
  CHECK(result("Scaler", scaler, 3) == mismatch);
  const std::string regressor = reals("coefficients", {1, 10}) + reals("intercepts", {0.5});
  CHECK(result("LinearRegressor", regressor, 2) == "(2, 1): 10.5 32.5");
  CHECK(result("LinearRegressor", regressor, 1) == mismatch);
  CHECK(result("Imputer", reals("imputed_value_floats", {7, 8}), 2) == "(2, 2): 7 1 2 3");
  CHECK(result("FeatureVectorizer", ints("inputdimensions", {2}), 2) == "(2, 2): 0 1 2 3");
  CHECK(result("FeatureVectorizer", ints("inputdimensions", {2}), 3) == mismatch);
  CHECK(result("FeatureVectorizer", "", 3) == "(2, 3): 0 1 2 3 4 5");
  const std::string machine = reals("coefficients", {1, 10}) + reals("rho", {0.5});
  CHECK(result("SVMRegressor", machine, 2) == "(2, 1): 10.5 32.5");
  CHECK(result("SVMRegressor", machine, 3) == mismatch);
}

TEST_CASE("Scaler with one number scales tensors of any rank") {
  CHECK(evaluated_in(
            "ai.onnx.ml", 1,
            value("input", "x", f32, {"2", "1", "2"}) +
                node("Scaler", {"x"}, {"y"}, "domain: 'ai.onnx.ml' " + reals("offset", {1}) + reals("scale", {2})) + y,
            {counting({2, 1, 2})}) == "(2, 1, 2): -2 0 2 4");
}

TEST_CASE("the shape of Reshape that is an input may lead to an empty tensor, and has one -1 at most") {
  auto result = [](std::vector<int64_t> data, const std::vector<int64_t>& shape) {
    std::vector<std::string> sizes;
    for (int64_t size : data) sizes.push_back(std::to_string(size));
    return evaluated(
        graph_bytes(value("input", "x", f32, sizes) + value("input", "s", i64, {std::to_string(shape.size())}) +
                    node("Reshape", {"x", "s"}, {"y"}) + y),
        {counting(std::move(data)), integers({static_cast<int64_t>(shape.size())}, shape)});
  };
  CHECK(result({2, 0, 4}, {-1, 3}) == "(0, 3):");
  CHECK(result({0}, {3, -1}) == "(3, 0):");
  CHECK(result({2, 0}, {-1, 1}) == "(0, 1):");
  CHECK(result({4}, {0, 1, 1}) == "(4, 1, 1): 0 1 2 3");
  CHECK(result({4}, {2, -1}) == "(2, 2): 0 1 2 3");
  CHECK(result({4}, {0, -1, -1}).starts_with("status"));
  CHECK(result({4}, {3, -1}).starts_with("status"));
}

TEST_CASE("a mask of another symbolic size is extended for the keys that it lacks") {
  auto result = [](int64_t columns) {
    return evaluated(
        graph_bytes(value("input", "q", f32, {"1", "1", "2", "1"}) + value("input", "k", f32, {"1", "1", "keys", "1"}) +
                        value("input", "m", f32, {"2", "columns"}) + node("Attention", {"q", "k", "k", "m"}, {"y"}) + y,
                    24),
        {floats({1, 1, 2, 1}, {0, 0}), counting({1, 1, 3, 1}),
         floats({2, columns}, std::vector<float>(static_cast<size_t>(2 * columns)))});
  };
  CHECK(result(3) == "(1, 1, 2, 1): 1 1");
  CHECK(result(2) == "(1, 1, 2, 1): 0.5 0.5");
  CHECK(result(1) == "(1, 1, 2, 1): 0 0");
  CHECK(result(4) == mismatch);
}

TEST_CASE("channels of transposed convolutions, and of columns that become an image") {
  auto convolved = [](int64_t channels) {
    return evaluated(graph_bytes(value("input", "x", f32, {"1", "channels", "2"}) +
                                 "initializer { name: 'w' data_type: 1 dims: [2, 1, 1] float_data: [1, 10] } " +
                                 node("ConvTranspose", {"x", "w"}, {"y"}) + y),
                     {counting({1, channels, 2})});
  };
  CHECK(convolved(2) == "(1, 1, 2): 20 31");
  CHECK(convolved(3) == mismatch);
  auto image = [](int64_t channels) {
    return evaluated(graph_bytes(value("input", "x", f32, {"1", "channels", "1"}) + list("i", {1, 2}) +
                                     list("b", {1, 2}) + node("Col2Im", {"x", "i", "b"}, {"y"}) + y,
                                 18),
                     {counting({1, channels, 1})});
  };
  CHECK(image(4) == "(1, 2, 1, 2): 0 1 2 3");
  CHECK(image(3) == mismatch);
}

TEST_CASE("lists with a number for each axis may have a symbolic length") {
  auto result = [](const std::string& op, const std::string& attributes, const std::vector<int64_t>& given, int opset) {
    return evaluated(graph_bytes(value("input", "x", f32, {"1", "2"}) + value("input", "list", i64, {"length"}) +
                                     node(op, {"x", "list"}, {"y"}, attributes) + y,
                                 opset),
                     {counting({1, 2}), integers({static_cast<int64_t>(given.size())}, given)});
  };
  CHECK(result("Tile", "", {2, 2}, 17) == "(2, 4): 0 1 0 1 0 1 0 1");
  CHECK(result("Tile", "", {2, 2, 2}, 17) == mismatch);
  const std::string one_hot = value("input", "x", i64, {"2"}) + value("input", "values", f32, {"two"}) +
                              "initializer { name: 'depth' data_type: 7 int64_data: 3 } " +
                              node("OneHot", {"x", "depth", "values"}, {"y"}) + y;
  CHECK(evaluated(graph_bytes(one_hot), {integers({2}, {1, 2}), floats({2}, {5, 7})}) == "(2, 3): 5 7 5 5 5 7");
  CHECK(evaluated(graph_bytes(one_hot), {integers({2}, {1, 2}), floats({1}, {5})}) == mismatch);
}

TEST_CASE("the attribute hidden_size tells the size of a recurrent layer") {
  auto result = [](int64_t hidden) {
    return evaluated(
        graph_bytes(value("input", "x", f32, {"1", "1", "1"}) + value("input", "w", f32, {"1", "rows", "1"}) +
                    value("input", "r", f32, {"1", "rows", "hidden"}) +
                    node("RNN", {"x", "w", "r"}, {"", "y"}, integer("hidden_size", 2)) + y),
        {floats({1, 1, 1}, {0}), counting({1, hidden, 1}), counting({1, hidden, hidden})});
  };
  CHECK(result(2) == "(1, 1, 2): 0 0");
  CHECK(result(3) == mismatch);
}

TEST_CASE("a sequence length for each sequence of a batch with another name") {
  auto result = [](int64_t lengths) {
    return evaluated_in(
        "com.microsoft", 1,
        value("input", "q", f32, {"batch", "1", "1"}) + value("input", "k", f32, {"batch", "2", "1"}) +
            value("input", "lengths", 6, {"sequences"}) +
            node("MultiHeadAttention", {"q", "k", "k", "", "lengths"}, {"y"},
                 "domain: 'com.microsoft' " + integer("num_heads", 1)) +
            y,
        {floats({1, 1, 1}, {0}), floats({1, 2, 1}, {1, 3}),
         Constant::of<int32_t>(dtype::i32, {lengths}, std::vector<int32_t>(static_cast<size_t>(lengths), 1))});
  };
  CHECK(result(1) == "(1, 1, 1): 1");
  CHECK(result(2) == mismatch);
}

TEST_CASE("the batch of an update of TensorScatter may have another name") {
  auto result = [](int64_t batch) {
    return evaluated(graph_bytes(value("input", "x", f32, {"n", "2"}) + value("input", "u", f32, {"m", "1"}) +
                                     node("TensorScatter", {"x", "u"}, {"y"}, integer("axis", 1)) + y,
                                 24),
                     {counting({1, 2}), floats({batch, 1}, std::vector<float>(static_cast<size_t>(batch), 9))});
  };
  CHECK(result(1) == "(1, 2): 9 1");
  CHECK(result(2) == mismatch);
}
