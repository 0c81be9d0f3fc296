// RNN, GRU and LSTM.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "graph.h"

namespace dlcc::random_models {
namespace {

// The layer that is drawn: its sizes, and the order of its axes.
struct Layer {
  const char* op;
  int64_t gates, hidden, directions;
  bool batch_first;

  // [length, directions, batch, hidden] and [directions, batch, hidden], or with the batch first.
  std::vector<Size> sequence_shape(const Size& length, const Size& batch) const {
    const Size d{directions, ""}, h{hidden, ""};
    return batch_first ? std::vector{batch, length, d, h} : std::vector{length, d, batch, h};
  }
  std::vector<Size> state_shape(const Size& batch) const {
    const Size d{directions, ""}, h{hidden, ""};
    return batch_first ? std::vector{batch, d, h} : std::vector{d, batch, h};
  }
};

Layer random_layer(Graph& g) {
  static constexpr std::pair<const char*, int64_t> layers[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
  const auto& [op, gates] = layers[g.draw(3)];
  return {op, gates, 1 + g.draw(5), 1 + (g.chance(30) ? 1 : 0), g.opset() >= 14 && g.chance(20)};
}

std::vector<int64_t> numbers_of(const std::vector<Size>& shape) {
  std::vector<int64_t> numbers;
  for (const Size& s : shape) numbers.push_back(s.number);
  return numbers;
}

// An operand of elements that are multiples of 1/4 and at most 1, or of `numbers`: a constant if its sizes are known,
// or an input.
Value operand(Graph& g, DType t, const std::vector<Size>& shape, std::optional<std::vector<double>> numbers = {}) {
  const int64_t count = Value{"", t, shape}.count();
  if (!numbers) numbers = g.random_numbers(t, count, 1, 0.25);
  const bool is_known = std::ranges::all_of(shape, [](const Size& s) { return s.symbol.empty(); });
  return is_known && g.chance(50) ? g.constant(t, numbers_of(shape), *numbers) : g.input(t, shape, *numbers);
}

// Weights of states are small, so that errors grow by at most a factor of three in a step.
std::vector<Value> operands_of(Graph& g, const Value& x, const Layer& layer, const Size& length, const Size& batch) {
  const DType t = x.type;
  const int64_t rows = layer.gates * layer.hidden;
  std::vector<Value> operands = {x, g.random_constant(t, {layer.directions, rows, x.shape[2].number}, 1),
                                 g.random_constant(t, {layer.directions, rows, layer.hidden}, 0.25)};
  const Value absent;
  operands.push_back(g.chance(60) ? g.random_constant(t, {layer.directions, 2 * rows}, 1) : absent);
  std::vector<double> lengths(static_cast<size_t>(batch.number));
  for (double& n : lengths) n = 1 + g.draw(static_cast<int>(length.number));
  operands.push_back(g.chance(30) ? operand(g, dtype::i32, {batch}, lengths) : absent);
  const std::vector<Size> state = layer.state_shape(batch);
  const bool has_state = g.chance(40), is_lstm = layer.gates == 4;
  operands.push_back(has_state ? operand(g, t, state) : absent);
  if (is_lstm) operands.push_back(has_state ? operand(g, t, state) : absent);
  if (is_lstm && g.chance(30))
    operands.push_back(g.random_constant(t, {layer.directions, 3 * layer.hidden}, 0.25));  // peepholes
  while (operands.back().name.empty()) operands.pop_back();
  return operands;
}

// Functions with values in [-1, 1], those of gates in [0, 1], and derivatives of at most 1.
void set_activations(Graph& g, Node& node, const Layer& layer) {
  std::vector<const char*> functions;
  for (int64_t d = 0; d < layer.directions; ++d) {
    if (layer.gates > 1) functions.push_back(g.one_of({"Sigmoid", "HardSigmoid"}));
    functions.push_back(g.one_of({"Tanh", "Softsign", "HardSigmoid"}));
    if (layer.gates == 4) functions.push_back(g.one_of({"Tanh", "Softsign", "Sigmoid"}));
  }
  node.texts("activations", functions);
}

bool add_recurrent(Graph& g) {
  auto x = g.any([](const Value& v) {
    return (v.type == dtype::f32 || v.type == dtype::f64) && v.rank() == 3 && v.bound <= 8 && v.count() > 0 &&
           v.shape[2].symbol.empty() && v.shape[0].number <= 8 && v.shape[1].number <= 8;
  });
  if (!x) return false;
  const Layer layer = random_layer(g);
  const Size length = x->shape[layer.batch_first ? 1 : 0], batch = x->shape[layer.batch_first ? 0 : 1];
  const double n = static_cast<double>(x->shape[2].number), steps = static_cast<double>(length.number);
  const double step = 8 * n * x->error + 32 * (n + 8) * epsilon(x->type) * std::max(1., x->bound);
  Value all{"", x->type, layer.sequence_shape(length, batch), 1, 0, std::pow(3, steps) * step};
  Value last = all, cell = all;
  last.shape = cell.shape = layer.state_shape(batch);
  cell.bound = steps + 1, cell.error *= steps + 1;
  const std::vector<Value> operands = operands_of(g, *x, layer, length, batch);
  Node node = layer.gates == 4 ? g.add(layer.op, operands, {all, last, cell}) : g.add(layer.op, operands, {all, last});
  node.integer("hidden_size", layer.hidden);
  node.text("direction", layer.directions == 2 ? "bidirectional" : g.one_of({"forward", "reverse"}));
  if (layer.batch_first) node.integer("layout", 1);
  if (layer.gates == 3) node.integer("linear_before_reset", g.draw(2));
  if (g.chance(20)) node.number("clip", 1.5);
  if (layer.gates == 4 && g.chance(10)) node.integer("input_forget", 1);
  if (g.chance(30)) set_activations(g, node, layer);
  return true;
}

}  // namespace

const std::vector<Operator>& recurrent_operators() {
  static const std::vector<Operator> rows = {add_recurrent};
  return rows;
}

}  // namespace dlcc::random_models
