// ai.onnx.ml: features, linear models, support vector machines, trees and labels. Expected values are onnxruntime's,
// which has the probabilities of support vector machines within 0.01 only, but for BRANCH_NEQ with NaN.
#include "evaluated.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int f32 = 1, i64 = 7;

std::string reals(const std::string& name, const std::vector<float>& v) {
  return fmt::format("attribute {{ name: '{}' type: FLOATS floats: [{}] }} ", name, fmt::join(v, ", "));
}
std::string texts(const std::string& name, const std::vector<std::string>& v) {
  std::string list;
  for (const std::string& s : v) list += fmt::format("strings: '{}' ", s);
  return fmt::format("attribute {{ name: '{}' type: STRINGS {} }} ", name, list);
}

// A model of one node of ai.onnx.ml with outputs y and z, or a longer graph.
std::vector<std::byte> ml_graph(const std::string& graph, int version) {
  return model_bytes(fmt::format(
      "ir_version: 8 opset_import {{ version: 17 }} opset_import {{ domain: 'ai.onnx.ml' version: {} }} graph {{ {} }}",
      version, graph));
}
std::string ml_node(const std::string& op, const std::string& attributes,
                    const std::vector<std::string>& inputs = {"x"}, const std::vector<std::string>& outputs = {"y"}) {
  return node(op, inputs, outputs, "domain: 'ai.onnx.ml' " + attributes);
}
std::string matrix(int type = f32) { return value("input", "x", type, {"n", "2"}); }
const std::string one_output = "output { name: 'y' } ", two_outputs = "output { name: 'y' } output { name: 'z' } ";

std::string result(const std::string& op, const std::string& attributes, const std::vector<float>& x, int version = 1) {
  return evaluated(ml_graph(matrix() + ml_node(op, attributes) + one_output, version),
                   {floats({static_cast<int64_t>(x.size()) / 2, 2}, x)});
}
std::string classified(const std::string& op, const std::string& attributes, const std::vector<float>& x) {
  return evaluated(ml_graph(matrix() + ml_node(op, attributes, {"x"}, {"y", "z"}) + two_outputs, 1),
                   {floats({static_cast<int64_t>(x.size()) / 2, 2}, x)});
}
bool refused(const std::string& graph, int version, const char* message) {
  const std::string text = imported(ml_graph(graph, version));
  CAPTURE(text);
  return text.find(message) != std::string::npos;
}

const std::vector<float> rows = {1, 2, -1, 0.5};

}  // namespace

TEST_CASE("Binarizer, Scaler, Normalizer, Imputer and other feature operators") {
  CHECK(result("Binarizer", number("threshold", 0.5), rows) == "(2, 2): 1 1 0 0");
  CHECK(result("Scaler", reals("offset", {1, 2}) + reals("scale", {2, 3}), rows) == "(2, 2): 0 0 -4 -4.5");
  CHECK(result("Normalizer", text("norm", "MAX"), {-1, -2, 0, 0, 3, -4}) == "(3, 2): 1 2 0 0 1 -1.333");
  CHECK(result("Normalizer", text("norm", "L1"), {-1, -3, 0, 0}) == "(2, 2): -0.25 -0.75 0 0");
  CHECK(result("Normalizer", text("norm", "L2"), {3, -4}) == "(1, 2): 0.6 -0.8");
  CHECK(result("Imputer",
               reals("imputed_value_floats", {5, 6}) + "attribute { name: 'replaced_value_float' type: FLOAT f: nan } ",
               {1, NAN, NAN, 2}) == "(2, 2): 1 6 5 2");
  CHECK(result("Imputer", reals("imputed_value_floats", {5}), {1, 0}) == "(1, 2): 1 5");
  CHECK(result("OneHotEncoder", ints("cats_int64s", {1, 2}), {1.5, 3}) == "(1, 2, 2): 1 0 0 0");
  const std::string strict =
      matrix() + ml_node("OneHotEncoder", ints("cats_int64s", {1, 2}) + integer("zeros", 0)) + one_output;
  CHECK(evaluated(ml_graph(strict, 1), {floats({1, 2}, {2, 1})}) == "(1, 2, 2): 0 1 1 0");
  CHECK(evaluated(ml_graph(strict, 1), {floats({1, 2}, {2, 3})}).starts_with("status"));
  const std::string vectors = matrix() + value("input", "w", i64, {"n", "1"}) +
                              ml_node("FeatureVectorizer", ints("inputdimensions", {2, 1}), {"x", "w"}) + one_output;
  CHECK(evaluated(ml_graph(vectors, 1), {floats({1, 2}, {1, 2}), integers({1, 1}, {7})}) == "(1, 3): 1 2 7");
  const std::string sizes_of_shapes =
      matrix() + value("input", "w", i64, {"n", "1"}) + ml_node("FeatureVectorizer", "", {"x", "w"}) + one_output;
  CHECK(evaluated(ml_graph(sizes_of_shapes, 1), {floats({1, 2}, {1, 2}), integers({1, 1}, {7})}) == "(1, 3): 1 2 7");
  const std::string columns =
      matrix() + list("w", {1, 1, 0}) + ml_node("ArrayFeatureExtractor", "", {"x", "w"}) + one_output;
  CHECK(evaluated(ml_graph(columns, 1), {floats({2, 2}, rows)}) == "(2, 3): 2 2 1 0.5 0.5 -1");
}

TEST_CASE("LinearRegressor and LinearClassifier with each post_transform") {
  const std::string two = reals("coefficients", {.3f, -.2f, .5f, .1f}) + reals("intercepts", {.1f, .2f});
  CHECK(result("LinearRegressor", two + integer("targets", 2), {-1, .5f}) == "(1, 2): -0.3 -0.25");
  CHECK(result("LinearRegressor", two + integer("targets", 2) + text("post_transform", "SOFTMAX_ZERO"), {-1, .5f}) ==
        "(1, 2): 0.4875 0.5125");
  CHECK(classified("LinearClassifier", two + ints("classlabels_ints", {7, 9}) + text("post_transform", "LOGISTIC"),
                   {-1, .5f}) == "(1): 9\n(1, 2): 0.4256 0.4378");
  const std::string one =
      reals("coefficients", {.3f, -.2f}) + reals("intercepts", {.1f}) + ints("classlabels_ints", {7, 9});
  CHECK(classified("LinearClassifier", one, {-1, .5f}) == "(1): 7\n(1, 2): 1.3 -0.3");
  CHECK(classified("LinearClassifier", one + text("post_transform", "LOGISTIC"), {-1, .5f}) ==
        "(1): 7\n(1, 2): 0.5744 0.4256");
}

TEST_CASE("SVMRegressor and SVMClassifier with each kernel") {
  const std::string poly = text("kernel_type", "POLY") + reals("kernel_params", {.5f, .1f, 3}) +
                           reals("coefficients", {.7f, -.4f}) + reals("rho", {.05f}) +
                           reals("support_vectors", {1, 1, -1, 0}) + integer("n_supports", 2);
  CHECK(result("SVMRegressor", poly, rows) == "(2, 1): 2.943 -0.03876");
  CHECK(result("SVMRegressor", poly + integer("one_class", 1), rows) == "(2, 1): 1 -1");
  CHECK(result("SVMRegressor",
               text("kernel_type", "LINEAR") + reals("coefficients", {.7f, -.4f}) + reals("rho", {.05f}),
               rows) == "(2, 1): -0.05 -0.85");
  const std::string rbf = text("kernel_type", "RBF") + reals("kernel_params", {.5f, 0, 3}) +
                          reals("coefficients", {.7f, -.4f, -.3f}) + reals("rho", {.05f}) +
                          reals("support_vectors", {1, 1, -1, 0, 0, 2}) + ints("vectors_per_class", {1, 2}) +
                          ints("classlabels_ints", {7, 9});
  CHECK(classified("SVMClassifier", rbf, rows) == "(2): 7 9\n(2, 2): -0.2853 0.2853 0.2785 -0.2785");
  CHECK(classified("SVMClassifier", rbf + reals("prob_a", {-1.2f}) + reals("prob_b", {.1f}), rows) ==
        "(2): 7 9\n(2, 2): 0.5603 0.4397 0.3931 0.6069");
  CHECK(classified("SVMClassifier", rbf + reals("prob_a", {-1.2f}) + reals("prob_b", {2}), rows) ==
        "(2): 7 9\n(2, 2): 0.1601 0.8399 0.08833 0.9117");  // the labels are voted for
  const std::string three = text("kernel_type", "LINEAR") + reals("coefficients", {.7f, -.4f, -.3f, .2f, .5f, -.6f}) +
                            reals("rho", {.05f, .1f, -.1f}) + reals("support_vectors", {1, 1, -1, 0, 0, 2}) +
                            ints("vectors_per_class", {1, 1, 1}) + ints("classlabels_ints", {7, 9, 8});
  CHECK(classified("SVMClassifier", three, rows) == "(2): 8 8\n(2, 3): 2.55 -0.5 -3 -0.7 -0.3 -0.2");
  CHECK(classified("SVMClassifier", three + reals("prob_a", {-1.2f, .8f, -.5f}) + reals("prob_b", {.1f, -.2f, .3f}),
                   rows) == "(2): 8 8\n(2, 3): 0.6204 0.04241 0.3372 0.2761 0.3785 0.3454");
  CHECK(refused(matrix() +
                    ml_node("SVMClassifier", three + reals("prob_a", {1}) + reals("prob_b", {1}), {"x"}, {"y", "z"}) +
                    two_outputs,
                1, "one number for each of the 3 pairs of classes"));
}

TEST_CASE("numbers of vectors and targets that no model has are refused") {
  for (const int64_t count : {int64_t{-1}, INT64_MAX}) {
    const std::string machine = reals("coefficients", {1, 2}) + reals("support_vectors", {1, 1}) + reals("rho", {0}) +
                                ints("vectors_per_class", {count, 2}) + ints("classlabels_ints", {7, 9});
    CHECK(refused(matrix() + ml_node("SVMClassifier", machine, {"x"}, {"y", "z"}) + two_outputs, 1,
                  "which is no number of vectors"));
  }
  CHECK(refused(matrix() +
                    ml_node("SVMRegressor", reals("coefficients", {1, 2}) + reals("support_vectors", {1, 1}) +
                                                reals("rho", {0}) + integer("n_supports", int64_t{1} << 62)) +
                    one_output,
                1, "numbers for 4611686018427387904 vectors and data float32 [n, 2]"));
  for (const int64_t targets : {int64_t{-1}, int64_t{0}, int64_t{1} << 62}) {
    const std::string attributes = reals("coefficients", {1, 2}) + integer("targets", targets);
    CHECK(refused(matrix() + ml_node("LinearRegressor", attributes) + one_output, 1, "there are 2 coefficients for"));
  }
}

TEST_CASE("Binarizer compares integers with thresholds between them and beyond their type") {
  auto binary = [](float threshold, const std::vector<int64_t>& x) {
    return evaluated(
        ml_graph(value("input", "x", i64, {"3"}) + ml_node("Binarizer", number("threshold", threshold)) + one_output,
                 1),
        {integers({3}, x)});
  };
  CHECK(binary(-0.5, {-1, 0, 1}) == "(3): 0 1 1");
  CHECK(binary(0.5, {-1, 0, 1}) == "(3): 0 0 1");
  CHECK(binary(1e19f, {0, 1, INT64_MAX}) == "(3): 0 0 0");
  CHECK(binary(-1e19f, {0, 1, INT64_MIN}) == "(3): 1 1 1");
}

TEST_CASE("Imputer of any rank has features along the last axis") {
  const std::string graph = value("input", "x", f32, {"2", "1", "2"}) +
                            ml_node("Imputer", reals("imputed_value_floats", {5, 6})) + one_output;
  CHECK(evaluated(ml_graph(graph, 1), {floats({2, 1, 2}, {0, 1, 2, 0})}) == "(2, 1, 2): 5 1 2 6");
}

namespace {

// A tree of one comparison of feature 0 with 1, whose leaves have the weights 10 (true) and 20 (false) for target 0.
std::string one_comparison(const std::string& mode, int missing) {
  return ints("nodes_treeids", {0, 0, 0}) + ints("nodes_nodeids", {0, 1, 2}) + ints("nodes_featureids", {0, 0, 0}) +
         reals("nodes_values", {1, 0, 0}) + texts("nodes_modes", {mode, "LEAF", "LEAF"}) +
         ints("nodes_truenodeids", {1, 0, 0}) + ints("nodes_falsenodeids", {2, 0, 0}) +
         ints("nodes_missing_value_tracks_true", {missing, 0, 0});
}
std::string targets(const std::vector<int64_t>& ids = {0, 0}) {
  return ints("target_treeids", {0, 0}) + ints("target_nodeids", {1, 2}) + ints("target_ids", ids) +
         reals("target_weights", {10, 20});
}
std::string classes(const std::vector<int64_t>& ids, const std::vector<float>& weights,
                    const std::vector<int64_t>& labels) {
  return ints("class_treeids", {0, 0}) + ints("class_nodeids", {1, 2}) + ints("class_ids", ids) +
         reals("class_weights", weights) + ints("classlabels_int64s", labels);
}

}  // namespace

TEST_CASE("trees with each comparison; NaN follows the child for missing values") {
  const std::vector<float> x = {0, 0, 1, 0, 2, 0, NAN, 0};
  const std::pair<const char*, const char*> expected[] = {{"BRANCH_LEQ", "10 10 20"}, {"BRANCH_LT", "10 20 20"},
                                                          {"BRANCH_GTE", "20 10 10"}, {"BRANCH_GT", "20 20 10"},
                                                          {"BRANCH_EQ", "20 10 20"},  {"BRANCH_NEQ", "10 20 10"}};
  for (const auto& [mode, scores] : expected)
    for (int missing : {0, 1}) {
      CAPTURE(mode);
      CHECK(result("TreeEnsembleRegressor", one_comparison(mode, missing) + targets(), x, 3) ==
            fmt::format("(4, 1): {} {}", scores, missing ? 10 : 20));
    }
}

TEST_CASE("scores and labels of tree regressors and classifiers") {
  const std::string tree = one_comparison("BRANCH_LEQ", 0);
  CHECK(result("TreeEnsembleRegressor", tree + targets({0, 1}) + integer("n_targets", 2) + reals("base_values", {1, 2}),
               {0, 0, 2, 0}, 3) == "(2, 2): 11 2 1 22");
  CHECK(result("TreeEnsembleRegressor",
               tree + targets({0, 1}) + integer("n_targets", 2) + text("aggregate_function", "MAX"), {0, 0, 2, 0},
               3) == "(2, 2): 10 0 0 20");
  CHECK(classified("TreeEnsembleClassifier", tree + classes({0, 0}, {.3f, .8f}, {7, 9}), {0, 0, 2, 0}) ==
        "(2): 7 9\n(2, 2): 0.7 0.3 0.2 0.8");
  CHECK(classified("TreeEnsembleClassifier",
                   tree + classes({0, 0}, {-.3f, .8f}, {7, 9}) + text("post_transform", "LOGISTIC"),
                   {0, 0, 2, 0}) == "(2): 7 9\n(2, 2): 0.5744 0.4256 0.31 0.69");
  CHECK(classified("TreeEnsembleClassifier",
                   tree + classes({1, 1}, {.3f, .8f}, {7, 9}) + text("post_transform", "SOFTMAX"),
                   {0, 0, 2, 0}) == "(2): 7 9\n(2, 2): 0.4256 0.5744 0.31 0.69");
  // Classes without a weight do not win over those with a negative score.
  CHECK(classified("TreeEnsembleClassifier", tree + classes({0, 1}, {-.3f, -.7f}, {7, 8, 9}), {0, 0, 2, 0}) ==
        "(2): 7 8\n(2, 3): -0.3 0 0 0 -0.7 0");
  CHECK(classified("TreeEnsembleClassifier",
                   tree + classes({0, 1}, {.3f, .7f}, {7, 8, 9}) + text("post_transform", "PROBIT"),
                   {0, 0}) == "(1): 7\n(1, 3): -0.5244 -inf -inf");
}

TEST_CASE("TreeEnsemble with set membership and separate leaves") {
  auto tensor = [](const std::string& name, int type, const std::string& field, const std::vector<double>& v) {
    return fmt::format("attribute {{ name: '{}' type: TENSOR t {{ data_type: {} dims: {} {}: [{}] }} }} ", name, type,
                       v.size(), field, fmt::join(v, ", "));
  };
  const std::string attributes =
      ints("tree_roots", {0}) + ints("nodes_featureids", {0, 1}) + ints("nodes_truenodeids", {1, 0}) +
      ints("nodes_trueleafs", {0, 1}) + ints("nodes_falsenodeids", {2, 1}) + ints("nodes_falseleafs", {1, 1}) +
      ints("leaf_targetids", {0, 1, 0}) + integer("n_targets", 2) + tensor("nodes_modes", 2, "int32_data", {0, 6}) +
      tensor("nodes_splits", 1, "float_data", {1, 0}) + tensor("leaf_weights", 1, "float_data", {5, 6, 7}) +
      "attribute { name: 'membership_values' type: TENSOR t { data_type: 1 dims: 3 float_data: [3, 4, nan] } } ";
  CHECK(result("TreeEnsemble", attributes, {0, 3, 0, 4, 0, 3.5, 2, 3}, 5) == "(4, 2): 5 0 5 0 0 6 7 0");
}

TEST_CASE("invalid trees are refused with a message") {
  auto model = [](const std::string& attributes) {
    return matrix() + ml_node("TreeEnsembleRegressor", attributes) + one_output;
  };
  const std::string tree = one_comparison("BRANCH_LEQ", 0);
  CHECK(refused(model(one_comparison("BRANCH_MEMBER", 0) + targets()), 3, "there is no mode 'BRANCH_MEMBER'"));
  CHECK(refused(model(tree + targets({0, 3})), 3, "a leaf has a weight for target 3 of 1"));
  CHECK(refused(model(tree + targets() + text("aggregate_function", "MEDIAN")), 3,
                "SUM, AVERAGE, MIN and MAX are known"));
  const std::string cycle = ints("nodes_treeids", {0, 0}) + ints("nodes_nodeids", {0, 1}) +
                            ints("nodes_featureids", {0, 0}) + reals("nodes_values", {1, 0}) +
                            texts("nodes_modes", {"BRANCH_LEQ", "BRANCH_LEQ"}) + ints("nodes_truenodeids", {1, 0}) +
                            ints("nodes_falsenodeids", {1, 1});
  CHECK(refused(model(cycle), 3, "tree 0 has a node below itself"));
}

TEST_CASE("LabelEncoder, OneHotEncoder and CategoryMapper translate labels") {
  const std::string numbers =
      ints("keys_int64s", {3, 4, 3}) + reals("values_floats", {.5f, .25f, .75f}) + number("default_float", 9);
  CHECK(evaluated(ml_graph(value("input", "x", i64, {"3"}) + ml_node("LabelEncoder", numbers) + one_output, 2),
                  {integers({3}, {4, 3, 5})}) == "(3): 0.25 0.75 9");
  const std::string nan =
      "attribute { name: 'keys_floats' type: FLOATS floats: [1, nan] } " + ints("values_int64s", {5, 6});
  CHECK(evaluated(ml_graph(value("input", "x", f32, {"3"}) + ml_node("LabelEncoder", nan) + one_output, 2),
                  {floats({3}, {NAN, 1, 2})}) == "(3): 6 5 -1");
  const std::string words = "initializer { name: 'x' data_type: 8 dims: 2 string_data: 'b' string_data: 'c' } ",
                    keys = texts("keys_strings", {"a", "b"});
  CHECK(evaluated(ml_graph(words + ml_node("LabelEncoder", keys + ints("values_int64s", {1, 2})) + one_output, 2),
                  {}) == "(2): 2 -1");
  CHECK(evaluated(ml_graph(words + ml_node("OneHotEncoder", texts("cats_strings", {"a", "b"})) + one_output, 1), {}) ==
        "(2, 2): 0 1 0 0");
  CHECK(evaluated(ml_graph(words + ml_node("LabelEncoder", texts("classes_strings", {"a", "c"})) + one_output, 1),
                  {}) == "(2): -1 1");
  CHECK(
      evaluated(
          ml_graph(words + ml_node("CategoryMapper", texts("cats_strings", {"c", "b"}) + ints("cats_int64s", {7, 8})) +
                       one_output,
                   1),
          {}) == "(2): 8 7");
  // Strings of numbers that are constants meet a comparison.
  const std::string there =
      list("k", {0, 1}) + words +
      ml_node("LabelEncoder", ints("keys_int64s", {0}) + texts("values_strings", {"b"}), {"k"}, {"t"}) +
      node("Equal", {"x", "t"}, {"y"}) + one_output;
  CHECK(evaluated(ml_graph(there, 2), {}) == "(2): 1 0");
}

TEST_CASE("keys, values and the default of LabelEncoder may be tensors of strings") {
  auto strings = [](const std::string& name, const std::vector<std::string>& list) {
    std::string data;
    for (const std::string& s : list) data += fmt::format("string_data: '{}' ", s);
    return fmt::format("attribute {{ name: '{}' type: TENSOR t {{ data_type: 8 dims: {} {} }} }} ", name, list.size(),
                       data);
  };
  const std::string words = "initializer { name: 'x' data_type: 8 dims: 2 string_data: 'b' string_data: 'c' } ";
  const std::string numbers = strings("keys_tensor", {"a", "b"}) + ints("values_int64s", {1, 2});
  CHECK(evaluated(ml_graph(words + ml_node("LabelEncoder", numbers) + one_output, 4), {}) == "(2): 2 -1");
  const std::string there =
      list("k", {0, 5}) + words +
      ml_node("LabelEncoder",
              ints("keys_int64s", {0}) + strings("values_tensor", {"b"}) + strings("default_tensor", {"c"}), {"k"},
              {"t"}) +
      node("Equal", {"x", "t"}, {"y"}) + one_output;
  CHECK(evaluated(ml_graph(there, 4), {}) == "(2): 1 1");
}

TEST_CASE("encoders of labels take no sequences") {
  auto says = [](const std::string& op, const std::string& attributes, int version) {
    return refused(matrix(i64) + node("SequenceConstruct", {"x"}, {"s"}) + ml_node(op, attributes, {"s"}) + one_output,
                   version, "X must be a tensor, found a sequence of 1 tensor");
  };
  CHECK(says("LabelEncoder", ints("keys_int64s", {1}) + ints("values_int64s", {1}), 2));
  CHECK(says("CategoryMapper", texts("cats_strings", {"c"}) + ints("cats_int64s", {7}), 1));
  CHECK(says("OneHotEncoder", ints("cats_int64s", {1}), 1));
}

TEST_CASE("strings, maps and other unsupported values are refused with a remedy") {
  CHECK(refused("input { name: 'x' type { tensor_type { elem_type: 8 shape { } } } } " +
                    ml_node("LabelEncoder", texts("keys_strings", {"a"}) + ints("values_int64s", {1})) + one_output,
                2, "encode strings before the model"));
  CHECK(refused(
      matrix(i64) + ml_node("LabelEncoder", ints("keys_int64s", {1}) + texts("values_strings", {"a"})) + one_output, 2,
      "the values are strings"));
  CHECK(refused(matrix() + ml_node("ZipMap", ints("classlabels_int64s", {1, 2})) + one_output, 1,
                "export the classifier without ZipMap"));
  CHECK(refused("initializer { name: 'x' data_type: 8 dims: 1 string_data: 'b' } output { name: 'x' } ", 1,
                "strings cannot be outputs"));
  CHECK(refused(matrix() +
                    ml_node("LinearClassifier",
                            reals("coefficients", {1, 2, 3, 4}) + reals("intercepts", {0, 0}) +
                                texts("classlabels_strings", {"a", "b"}),
                            {"x"}, {"y", "z"}) +
                    two_outputs,
                1, "the labels are strings"));
}

}  // namespace dlcc::frontends::onnx
