// RNN, GRU, LSTM: their equations with numbers that are easy to follow (one unit, linear activations), directions,
// lengths of sequences, layouts, activation functions.
#include "evaluated.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int f32 = 1, i32 = 6;

std::string weights(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
  std::string text = fmt::format("initializer {{ name: '{}' data_type: 1 ", name);
  for (int64_t d : dims) text += fmt::format("dims: {} ", d);
  return text + fmt::format("float_data: [{}] }} ", fmt::join(values, ", "));
}
std::string numbers(const std::string& name, const std::vector<float>& v) {
  return fmt::format("attribute {{ name: '{}' type: FLOATS floats: [{}] }} ", name, fmt::join(v, ", "));
}
std::string activations(const std::vector<std::string>& names) {
  return fmt::format("attribute {{ name: 'activations' type: STRINGS strings: ['{}'] }} ", fmt::join(names, "', '"));
}
// `count` activation functions that change nothing.
std::string linear(size_t count) {
  return activations(std::vector<std::string>(count, "Affine")) +
         numbers("activation_alpha", std::vector<float>(count, 1)) +
         numbers("activation_beta", std::vector<float>(count, 0));
}

// A node with the inputs X, W, R and those of `more`, all outputs but those of empty names.
std::string layer(const std::string& op, const std::string& attributes, const std::vector<std::string>& more = {},
                  const std::vector<std::string>& outputs = {"Y", "Y_h"}) {
  std::vector<std::string> inputs = {"X", "W", "R"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  std::string graph = node(op, inputs, outputs, attributes);
  for (const std::string& name : outputs)
    if (!name.empty()) graph += value("output", name, f32, {"", "", ""});
  return graph;
}

// Two sequences of three numbers: 1 2 3 and 10 20 30.
const std::string three_steps = value("input", "X", f32, {"3", "2", "1"});
const Constant x = floats({3, 2, 1}, {1, 10, 2, 20, 3, 30});
const std::string rnn_weights = weights("W", {1, 1, 1}, {2}) + weights("R", {1, 1, 1}, {1});

std::string rnn(const std::string& attributes = "", const std::vector<std::string>& more = {},
                const std::string& graph = "", const std::vector<Constant>& further = {}) {
  std::vector<Constant> args = {x};
  args.insert(args.end(), further.begin(), further.end());
  return evaluated(graph_bytes(three_steps + graph + rnn_weights + layer("RNN", linear(1) + attributes, more)), args);
}

}  // namespace

TEST_CASE("one product of all inputs of an RNN precedes the loop") {
  const std::string text = imported(graph_bytes(three_steps + rnn_weights + layer("RNN", linear(1))));
  const size_t loop = text.find("fn ("), product = text.find("nn.dense"), inside = text.find("nn.dense", product + 1);
  CHECK_MESSAGE(product < loop, text);
  CHECK_MESSAGE((inside > loop && inside < text.find("} else {")), text);
  CHECK(text.find("nn.dense", inside + 1) == std::string::npos);
  CHECK_MESSAGE(text.find("less(%i, 3i64)") != std::string::npos, text);
}

TEST_CASE("an RNN with a sequence length or batch of 0") {
  const std::string graph = value("input", "X", f32, {"s", "b", "1"}) + rnn_weights + layer("RNN", linear(1));
  ImportOptions options;
  options.dims["s"].low = options.dims["b"].low = 0;
  CHECK(evaluated(graph_bytes(graph), {x}, options) == "(3, 1, 2, 1): 2 20 6 60 12 120\n(1, 2, 1): 12 120");
  CHECK(evaluated(graph_bytes(graph), {floats({0, 2, 1}, {})}, options) == "(0, 1, 2, 1):\n(1, 2, 1): 0 0");
  CHECK(evaluated(graph_bytes(graph), {floats({3, 0, 1}, {})}, options) == "(3, 1, 0, 1):\n(1, 0, 1):");
}

TEST_CASE("RNN in each direction, with sequence lengths") {
  CHECK(rnn() == "(3, 1, 2, 1): 2 20 6 60 12 120\n(1, 2, 1): 12 120");
  CHECK(rnn(text("direction", "reverse")) == "(3, 1, 2, 1): 12 120 10 100 6 60\n(1, 2, 1): 12 120");
  const std::string lengths = value("input", "lengths", i32, {"2"});
  const std::vector<Constant> three_and_two = {Constant::of<int32_t>(dtype::i32, {2}, {3, 2})};
  CHECK(rnn("", {"", "lengths"}, lengths, three_and_two) == "(3, 1, 2, 1): 2 20 6 60 12 0\n(1, 2, 1): 12 60");
  CHECK(rnn(text("direction", "reverse"), {"", "lengths"}, lengths, three_and_two) ==
        "(3, 1, 2, 1): 12 60 10 40 6 0\n(1, 2, 1): 12 60");
  const std::string known = "initializer { name: 'known' data_type: 6 dims: 2 int32_data: [3, 1] } ";
  CHECK(rnn("", {"", "known"}, known) == "(3, 1, 2, 1): 2 20 6 0 12 0\n(1, 2, 1): 12 20");
  const std::string full = "initializer { name: 'full' data_type: 6 dims: 2 int32_data: [3, 3] } ";
  const std::string text = imported(graph_bytes(three_steps + full + rnn_weights + layer("RNN", "", {"", "full"})));
  CHECK_MESSAGE(text.find("where") == std::string::npos, text);
}

TEST_CASE("RNN with biases, initial state, clipping and omitted outputs") {
  CHECK(rnn("", {"B"}, weights("B", {1, 2}, {1, 4})) == "(3, 1, 2, 1): 7 25 16 70 27 135\n(1, 2, 1): 27 135");
  CHECK(rnn("", {"", "", "h"}, value("input", "h", f32, {"1", "2", "1"}), {floats({1, 2, 1}, {100, 0})}) ==
        "(3, 1, 2, 1): 102 20 106 60 112 120\n(1, 2, 1): 112 120");
  CHECK(rnn(number("clip", 5)) == "(3, 1, 2, 1): 2 5 5 5 5 5\n(1, 2, 1): 5 5");
  const std::string last = three_steps + rnn_weights + layer("RNN", linear(1), {}, {"", "Y_h"});
  CHECK(evaluated(graph_bytes(last), {x}) == "(1, 2, 1): 12 120");
  CHECK(imported(graph_bytes(last)).find("dynamic_update_slice") == std::string::npos);
}

TEST_CASE("bidirectional RNN with the batch as first axis") {
  const std::string both = weights("W", {2, 1, 1}, {2, 1}) + weights("R", {2, 1, 1}, {1, 2});
  CHECK(evaluated(graph_bytes(three_steps + both + layer("RNN", linear(2) + text("direction", "bidirectional"))),
                  {x}) == "(3, 2, 2, 1): 2 20 17 170 6 60 8 80 12 120 3 30\n(2, 2, 1): 12 120 17 170");
  const std::string batch_first = value("input", "X", f32, {"2", "3", "1"}) + both +
                                  layer("RNN", linear(2) + text("direction", "bidirectional") + integer("layout", 1));
  CHECK(evaluated(graph_bytes(batch_first), {floats({2, 3, 1}, {1, 2, 3, 10, 20, 30})}) ==
        "(2, 3, 2, 1): 2 17 6 8 12 3 20 170 60 80 120 30\n(2, 2, 1): 12 17 120 170");
}

TEST_CASE("GRU follows its equations, with linear_before_reset") {
  const std::string one_step = value("input", "X", f32, {"1", "1", "1"}) + weights("W", {1, 3, 1}, {0.5, 2, 3}) +
                               weights("R", {1, 3, 1}, {1, 1, 1}) + weights("h", {1, 1, 1}, {2}) +
                               weights("B", {1, 6}, {0, 0, 0, 0, 0, 10});
  auto gru = [&](const std::string& attributes, const std::string& bias) {
    return evaluated(graph_bytes(one_step + layer("GRU", linear(2) + attributes, {bias, "", "h"}, {"", "Y_h"})),
                     {floats({1, 1, 1}, {1})});
  };
  // z = 0.5 + 2, r = 2 + 2, h = 3 + 4 * 2 (+ 10), or 3 + 4 * (2 (+ 10)); H' = -1.5 h + 2.5 * 2
  CHECK(gru("", "") == "(1, 1, 1): -11.5");
  CHECK(gru("", "B") == "(1, 1, 1): -26.5");
  CHECK(gru(integer("linear_before_reset", 1), "") == "(1, 1, 1): -11.5");
  CHECK(gru(integer("linear_before_reset", 1), "B") == "(1, 1, 1): -71.5");
}

TEST_CASE("LSTM follows its equations, with peepholes and input_forget") {
  const std::string one_step = value("input", "X", f32, {"1", "1", "1"}) + weights("W", {1, 4, 1}, {1, 2, 3, 4}) +
                               weights("R", {1, 4, 1}, {1, 1, 1, 1}) + weights("h", {1, 1, 1}, {1}) +
                               weights("c", {1, 1, 1}, {2}) + weights("P", {1, 3}, {1, 2, 3});
  auto lstm = [&](const std::string& attributes, const std::string& peepholes) {
    return evaluated(graph_bytes(one_step + layer("LSTM", linear(3) + attributes, {"", "", "h", "c", peepholes},
                                                  {"", "Y_h", "Y_c"})),
                     {floats({1, 1, 1}, {1})});
  };
  // i = 1 + 1, o = 2 + 1, f = 3 + 1, g = 4 + 1; C' = f * 2 + i * g, H' = o * C'
  CHECK(lstm("", "") == "(1, 1, 1): 54\n(1, 1, 1): 18");
  CHECK(lstm(integer("input_forget", 1), "") == "(1, 1, 1): 24\n(1, 1, 1): 8");
  CHECK(lstm(number("clip", 3), "") == "(1, 1, 1): 36\n(1, 1, 1): 12");
  // i = 2 + 1 * 2, f = 4 + 3 * 2, C' = 20 + 20, o = 3 + 2 * 40
  CHECK(lstm("", "P") == "(1, 1, 1): 3320\n(1, 1, 1): 40");
}

TEST_CASE("each activation function of recurrent layers") {
  auto activated = [](const std::string& name, const std::vector<float>& alpha = {},
                      const std::vector<float>& beta = {}) {
    std::string attributes = activations({name});
    if (!alpha.empty()) attributes += numbers("activation_alpha", alpha);
    if (!beta.empty()) attributes += numbers("activation_beta", beta);
    const std::string graph = value("input", "X", f32, {"1", "5", "1"}) + weights("W", {1, 1, 1}, {1}) +
                              weights("R", {1, 1, 1}, {0}) + layer("RNN", attributes, {}, {"", "Y_h"});
    const std::string found = evaluated(graph_bytes(graph), {floats({1, 5, 1}, {-2, -0.25, 0, 1.5, 200})});
    return found.substr(found.find(':') + 1);
  };
  CHECK(activated("Relu") == " 0 0 0 1.5 200");
  CHECK(activated("Tanh") == " -0.964 -0.2449 0 0.9051 1");
  CHECK(activated("sigmoid") == " 0.1192 0.4378 0.5 0.8176 1");
  CHECK(activated("Affine", {2}, {1}) == " -3 0.5 1 4 401");
  CHECK(activated("LeakyRelu") == " -0.02 -0.0025 0 1.5 200");
  CHECK(activated("LeakyRelu", {0.5}) == " -1 -0.125 0 1.5 200");
  CHECK(activated("ThresholdedRelu") == " 0 0 0 1.5 200");
  CHECK(activated("ThresholdedRelu", {-1}) == " 0 -0.25 0 1.5 200");
  CHECK(activated("ScaledTanh", {2}, {0.5}) == " -1.523 -0.2487 0 1.27 2");
  CHECK(activated("HardSigmoid") == " 0.1 0.45 0.5 0.8 1");
  CHECK(activated("HardSigmoid", {1}, {0}) == " 0 0 0 1 1");
  CHECK(activated("Elu") == " -0.8647 -0.2212 0 1.5 200");
  CHECK(activated("Elu", {2}) == " -1.729 -0.4424 0 1.5 200");
  CHECK(activated("Softsign") == " -0.6667 -0.2 0 0.6 0.995");
  CHECK(activated("Softplus") == " 0.1269 0.5759 0.6931 1.701 200");
}

TEST_CASE("activation functions take alpha and beta from the lists in order") {
  const std::string graph = value("input", "X", f32, {"1", "1", "1"}) + weights("W", {2, 1, 1}, {1, 1}) +
                            weights("R", {2, 1, 1}, {0, 0}) +
                            layer("RNN",
                                  activations({"Relu", "Affine"}) + text("direction", "bidirectional") +
                                      numbers("activation_alpha", {3}) + numbers("activation_beta", {0.5}),
                                  {}, {"", "Y_h"});
  CHECK(evaluated(graph_bytes(graph), {floats({1, 1, 1}, {2})}) == "(2, 1, 1): 2 6.5");
}

TEST_CASE("invalid recurrent layers are refused with a message") {
  auto has = [](const std::string& graph, const std::string& message) {
    const std::string found = imported(graph_bytes(graph));
    CHECK_MESSAGE(found.find(message) != std::string::npos, found);
  };
  auto refused = [&](const std::string& attributes, const std::string& message) {
    has(three_steps + rnn_weights + layer("RNN", attributes), message);
  };
  refused(text("direction", "backward"), "error[bad-attribute]: direction is 'backward'");
  refused(activations({"Sinh"}), "error[bad-attribute]: there is no activation function 'Sinh'");
  refused(activations({"Relu", "Relu"}),
          "error[bad-attribute]: attribute 'activations' must have 1 functions, found 2");
  refused(activations({"Affine"}), "error[bad-attribute]: the activation function 'Affine' needs the numbers");
  refused(integer("hidden_size", 2), "error[shape-mismatch]: hidden_size is 2, but R is for 1");
  refused(text("direction", "bidirectional"),
          "error[shape-mismatch]: W must have the shape (2, 1, 1), found (1, 1, 1)");
  has(three_steps + value("input", "lengths", f32, {"2"}) + rnn_weights + layer("RNN", "", {"", "lengths"}),
      "error[type-mismatch]: sequence_lens must be integers");
  has(value("input", "X", f32, {"3", "2"}) + rnn_weights + layer("RNN", ""),
      "error[shape-mismatch]: X and R must have three axes");
}

}  // namespace dlcc::frontends::onnx
