// The common part of RNN, GRU and LSTM: a loop over a sequence, for one direction or two. The products of all inputs
// with the input weights are one matrix product before the loop; an iteration computes the products of the state.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/operators/activations.h"

namespace dlcc::frontends::onnx {

// A matrix of weights, of which each row belongs to an output. Quantized ones are signed or unsigned bytes, with one
// scale and zero point or one for each row.
struct Weights {
  Value matrix;
  std::optional<Value> scale = {}, zero_point = {};
};

// The parameters of one direction. The rows of weights, and the elements of biases, belong to one gate after the other.
struct Direction {
  size_t index = 0;
  bool reversed = false;
  double clip = 0;  // bound of the operands of activations; 0: none
  std::vector<Activation> activations;
  Weights input_weights;                   // [gates * hidden, input size]
  std::vector<Weights> recurrent_weights;  // one matrix [gates * hidden, hidden] for each product of an iteration
  std::optional<Value> input_bias;         // [gates * hidden], with the recurrent biases that are added to it
  std::optional<Value> recurrent_bias;     // the other recurrent biases
  std::vector<Value> peepholes;            // three vectors [hidden], or none
};

// A kind of layer.
struct Cell {
  // Weights are quantized, each direction's matrix is transposed, and scales and zero points follow the other inputs.
  bool quantized = false;
  std::vector<size_t> products = {1};  // the number of gates of each product with recurrent weights
  size_t states = 1;
  size_t separate_biases = 0;  // the number of last gates whose recurrent bias is not added to the input bias
  std::vector<std::string> activations;
  // One iteration: the states [batch, hidden] after it, from the input's products and biases [batch, gates * hidden]
  // and the states before it. The first state is the element of the output sequence.
  std::function<Values(Node&, const Direction&, const Value& input, const Values& states)> step;
};

Values recurrent_layer(Node&, const Cell&);

// x * weights', plus a bias. With quantized weights x is quantized by its range.
Value product(Node&, const Value& x, const Weights&, const std::optional<Value>& bias = std::nullopt);

// Parts [first, first + count) of `all` equal parts of an axis.
Value parts(Node&, const Value& data, int64_t axis, size_t all, size_t first, size_t count = 1);

// Applies an activation function of the direction to x, clipped.
Value activate(Node&, const Direction&, size_t function, const Value& x);

}  // namespace dlcc::frontends::onnx
