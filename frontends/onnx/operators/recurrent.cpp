#include "frontends/onnx/operators/recurrent.h"

#include <algorithm>
#include <numeric>

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/quantization.h"

namespace dlcc::frontends::onnx {
namespace {

class Layer {
 public:
  // Inputs of all three operators; the initial states follow each other.
  enum Input { data = 0, input_weights = 1, recurrent_weights = 2, biases = 3, lengths = 4, initial_state = 5 };
  static constexpr int peepholes = 7, input_scale = 8, recurrent_scale = 10;  // a zero point follows each scale

  Layer(Node& n, const Cell& cell)
      : n_(n), cell_(cell), gates_(std::accumulate(cell.products.begin(), cell.products.end(), size_t{0})) {}

  Values convert() {
    read_attributes();
    if (n_.failed() || !read_sizes()) return {};
    std::vector<Values> results;  // of each direction: the states, and the sequence if it is wanted
    for (size_t d = 0; d < reversed_.size() && !n_.failed(); ++d) results.push_back(run(direction(d)));
    if (n_.failed()) return {};
    auto of_all = [&](size_t k, int64_t axis) {
      Values list;
      for (const Values& own : results) list.push_back(own[k]);
      return stacked(n_, list, axis);
    };
    Values outputs = {n_.wants(0) ? of_all(cell_.states, batch_first_ ? 2 : 1) : Value::poison()};
    for (size_t k = 0; k < cell_.states; ++k) outputs.push_back(of_all(k, batch_first_ ? 1 : 0));
    return outputs;
  }

 private:
  // ---- attributes and sizes

  void read_attributes() {
    n_.ignore("output_sequence");  // of operator set 1: the node names the outputs that it computes
    std::string direction = n_.text("direction", "forward");
    n_.check(direction == "forward" || direction == "reverse" || direction == "bidirectional",
             DiagnosticId::bad_attribute, fmt::format("direction is '{}'", direction),
             "it is forward, reverse or bidirectional");
    reversed_ = {direction == "reverse"};
    if (direction == "bidirectional") reversed_ = {false, true};
    batch_first_ = n_.flag("layout", false);
    clip_ = n_.number("clip", 0);
    activations_ = read_activations(n_, reversed_.size(), cell_.activations);
  }

  bool read_sizes() {
    const Value &x = n_.in(data), &r = n_.in(recurrent_weights);
    if (!n_.check(x.rank() == 3 && r.rank() == 3, DiagnosticId::shape_mismatch, "X and R must have three axes"))
      return false;
    const auto hidden = r.type.shape[cell_.quantized ? 1 : 2].constant();
    if (!n_.check(hidden || n_.has_attr("hidden_size"), DiagnosticId::dynamic_shape,
                  "the hidden size must be known at compile time: by R or the attribute hidden_size"))
      return false;
    hidden_ = hidden.value_or(n_.integer("hidden_size", 0));
    if (!n_.check(hidden || hidden_ >= 1, DiagnosticId::bad_attribute,
                  fmt::format("attribute 'hidden_size' must be at least 1, found {}", hidden_)))
      return false;
    int64_t declared = n_.integer("hidden_size", hidden_);
    n_.check(declared == hidden_, DiagnosticId::shape_mismatch,
             fmt::format("hidden_size is {}, but R is for {}", declared, hidden_));
    batch_ = x.type.shape[batch_first_ ? 0 : 1];
    length_ = x.type.shape[batch_first_ ? 1 : 0];
    Dim directions(static_cast<int64_t>(reversed_.size())), rows = Dim(static_cast<int64_t>(gates_)) * hidden_;
    const Dim inputs = x.type.shape[2];
    expect(input_weights, cell_.quantized ? Shape{directions, inputs, rows} : Shape{directions, rows, inputs});
    expect(recurrent_weights, cell_.quantized ? Shape{directions, hidden_, rows} : Shape{directions, rows, hidden_});
    expect(biases, {directions, rows * Dim(2)});
    expect(lengths, {batch_});
    n_.check(!n_.has(lengths) || is_integer(n_.in(lengths).type.dtype), DiagnosticId::type_mismatch,
             "sequence_lens must be integers");
    for (size_t k = 0; k < cell_.states; ++k)
      expect(initial(k), batch_first_ ? Shape{batch_, directions, hidden_} : Shape{directions, batch_, hidden_});
    expect(peepholes, {directions, Dim(3) * hidden_});
    if (cell_.quantized)
      for (int k : {input_scale, input_scale + 1, recurrent_scale, recurrent_scale + 1})
        expect(k, n_.in(k).rank() == 2 ? Shape{directions, rows} : Shape{directions});
    return !n_.failed();
  }

  // Checks an optional input's shape.
  void expect(int input, const Shape& shape) {
    if (n_.has(input))
      n_.check(n_.require_shape(input, shape), DiagnosticId::shape_mismatch,
               fmt::format("{} must have the shape {}, found {}", n_.in(input).role, str(shape),
                           str(n_.in(input).type.shape)));
  }

  static int initial(size_t state) { return initial_state + static_cast<int>(state); }

  // ---- parameters of a direction

  // The slice of an input for the direction, without the axis of directions.
  std::optional<Value> own(int input, size_t direction, int64_t axis = 0) {
    if (!n_.has(input)) return std::nullopt;
    Value part = parts(n_, n_.in(input), axis, reversed_.size(), direction);
    if (part.poisoned) return part;
    Shape shape = part.type.shape;
    shape.erase(shape.begin() + axis);
    return n_.reshape(part, shape);
  }

  Weights weights(int input, int scale, size_t direction) {
    const Value matrix = *own(input, direction);
    if (!cell_.quantized || matrix.poisoned) return {matrix};
    return {n_.call("transpose", {matrix}, {{"axes", relay::AttrList{1, 0}}}), own(scale, direction),
            own(scale + 1, direction)};
  }

  Direction direction(size_t d) {
    auto first = activations_.begin() + static_cast<ptrdiff_t>(d * cell_.activations.size());
    Direction result{.index = d,
                     .reversed = reversed_[d],
                     .clip = clip_,
                     .activations = {first, first + static_cast<ptrdiff_t>(cell_.activations.size())},
                     .input_weights = weights(input_weights, input_scale, d)};
    const Weights all_gates = weights(recurrent_weights, recurrent_scale, d);
    size_t gate = 0;
    for (size_t count : cell_.products) {
      Weights of_product = all_gates;
      of_product.matrix = parts(n_, all_gates.matrix, 0, gates_, gate, count);
      result.recurrent_weights.push_back(of_product);
      gate += count;
    }
    if (auto all = own(peepholes, d))
      for (size_t k = 0; k < 3; ++k) result.peepholes.push_back(parts(n_, *all, 0, 3, k));
    if (auto both = own(biases, d)) split_biases(result, *both);
    return result;
  }

  // The input's biases of all gates, then the recurrent ones.
  void split_biases(Direction& d, const Value& both) {
    const size_t all = 2 * gates_, separate = cell_.separate_biases, joined = gates_ - separate;
    d.input_bias = n_.call("add", {parts(n_, both, 0, all, 0, joined), parts(n_, both, 0, all, gates_, joined)});
    if (separate == 0) return;
    d.input_bias = n_.call("concatenate", {*d.input_bias, parts(n_, both, 0, all, joined, separate)}, {{"axis", 0}});
    d.recurrent_bias = parts(n_, both, 0, all, gates_ + joined, separate);
  }

  // ---- the loop

  // The products of all inputs with the input weights, in the order of X's axes.
  Value products_of_inputs(const Direction& d) {
    const Value& x = n_.in(data);
    const Shape& shape = x.type.shape;
    Value all = product(n_, n_.reshape(x, {shape[0] * shape[1], shape[2]}), d.input_weights, d.input_bias);
    return all.poisoned ? all : n_.reshape(all, {shape[0], shape[1], all.type.shape[1]});
  }

  // The lengths of the sequences as [batch, 1]; empty if all are full.
  std::optional<Value> column_of_lengths() {
    if (!n_.has(lengths)) return std::nullopt;
    const Constant* known = n_.in(lengths).constant();
    bool full = known && length_.is_constant();
    for (int64_t b = 0; full && b < known->count(); ++b) full = known->integer_at(b) >= length_.value();
    if (full) return std::nullopt;
    return n_.reshape(n_.cast(n_.in(lengths), dtype::i64), {batch_, Dim(1)});
  }

  Values run(const Direction& d) {
    const int64_t time_axis = batch_first_ ? 1 : 0;
    Value inputs = products_of_inputs(d);
    DType type = n_.in(data).type.dtype;
    LoopParts loop;
    for (size_t k = 0; k < cell_.states; ++k) {
      auto given = own(initial(k), d.index, batch_first_ ? 1 : 0);
      loop.initial.push_back(given ? *given : zeros(n_, type, {batch_, hidden_}));
      loop.names.push_back(k == 0 ? "hidden" : "cell");
    }
    if (n_.failed()) return {};
    const std::optional<Value> column = column_of_lengths();
    const Value steps = size_of_axis(n_, n_.in(data), time_axis);
    loop.count = steps;
    loop.length = length_;
    loop.iteration = [&](const Value& counter, const Values& states) -> std::optional<Iteration> {
      Value position = slice_index(n_, counter, steps, d.reversed);
      Iteration it;
      it.carried = cell_.step(n_, d, slice_at(n_, inputs, position, time_axis), states);
      Value output = it.carried[0];
      if (column) {
        Value within = n_.call("less", {position, *column});
        for (size_t k = 0; k < states.size(); ++k) it.carried[k] = n_.call("where", {within, it.carried[k], states[k]});
        output = n_.call("where", {within, output, n_.scalar(type, 0)});
      }
      if (n_.wants(0)) it.scanned.push_back({output, time_axis, d.reversed});
      return it;
    };
    return loop_function(n_, std::move(loop)).value_or(Values{});
  }

  Node& n_;
  const Cell& cell_;
  const size_t gates_;
  std::vector<bool> reversed_;  // by direction
  bool batch_first_ = false;
  double clip_ = 0;
  std::vector<Activation> activations_;  // of all directions
  int64_t hidden_ = 0;
  Dim batch_, length_;
};

// x, quantized by its range, times quantized weights, as float32.
Value dynamic_product(Node& n, const Value& x, const Weights& weights, const relay::Attrs& attrs) {
  const Values data = dynamically_quantized(n, x);
  auto zero_point = weights.zero_point;
  if (zero_point && zero_point->rank() == 1) zero_point = n.call("expand_dims", {*zero_point}, {{"axis", 1}});
  const Value sums = n.call("nn.dense", {centred(n, data[0], data[2]), centred(n, weights.matrix, zero_point)}, attrs);
  if (sums.poisoned) return sums;
  return multiply(n, n.cast(sums, x.type.dtype), multiply(n, data[1], *weights.scale));
}

}  // namespace

Values recurrent_layer(Node& n, const Cell& cell) { return Layer(n, cell).convert(); }

Value product(Node& n, const Value& x, const Weights& weights, const std::optional<Value>& bias) {
  if (x.poisoned || weights.matrix.poisoned) return Value::poison();
  relay::Attrs attrs;
  if (auto units = weights.matrix.type.shape[0].constant()) attrs["units"] = *units;
  Value result = weights.scale ? dynamic_product(n, x, weights, attrs) : n.call("nn.dense", {x, weights.matrix}, attrs);
  return bias ? n.call("nn.bias_add", {result, *bias}, {{"axis", 1}}) : result;
}

Value parts(Node& n, const Value& data, int64_t axis, size_t all, size_t first, size_t count) {
  if (data.poisoned || count == all) return data;
  int64_t size = data.type.shape[static_cast<size_t>(axis)].value() / static_cast<int64_t>(all);
  int64_t begin = static_cast<int64_t>(first) * size, end = static_cast<int64_t>(first + count) * size;
  return n.call("strided_slice", {data},
                {{"begin", relay::AttrList{begin}}, {"end", relay::AttrList{end}}, {"axes", relay::AttrList{axis}}});
}

Value activate(Node& n, const Direction& d, size_t function, const Value& x) {
  Value bounded = d.clip > 0 ? n.call("clip", {x}, {{"a_min", -d.clip}, {"a_max", d.clip}}) : x;
  return activate(n, d.activations[function], bounded);
}

}  // namespace dlcc::frontends::onnx
