// The equations of RNN, GRU and LSTM: one iteration of each.
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/recurrent.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

Value one_minus(Node& n, const Value& a) { return n.call("subtract", {n.scalar(a.type.dtype, 1), a}); }

// H' = f(x + H R')
Values convert_rnn(Node& n) {
  return recurrent_layer(n, {.activations = {"Tanh"},
                             .step = [](Node& n, const Direction& d, const Value& x, const Values& states) -> Values {
                               return {activate(n, d, 0, add(n, x, product(n, states[0], d.recurrent_weights[0])))};
                             }});
}

// z = f(x_z + H Rz')             update gate
// r = f(x_r + H Rr')             reset gate
// h = g(x_h + (r . H) Rh')       or, with linear_before_reset, g(x_h + r . (H Rh' + bias))
// H' = (1 - z) . h + z . H
Values convert_gru(Node& n) {
  const bool reset_product = n.flag("linear_before_reset", false);
  auto step = [reset_product](Node& n, const Direction& d, const Value& x, const Values& states) -> Values {
    const Value& hidden = states[0];
    Value recurrent = product(n, hidden, d.recurrent_weights[0]);
    Value gates = add(n, parts(n, x, 1, 3, 0, 2), reset_product ? parts(n, recurrent, 1, 3, 0, 2) : recurrent);
    Value update = activate(n, d, 0, parts(n, gates, 1, 2, 0)), reset = activate(n, d, 0, parts(n, gates, 1, 2, 1));
    Value candidate;
    if (reset_product) {
      Value own = parts(n, recurrent, 1, 3, 2);
      candidate = multiply(n, reset, d.recurrent_bias ? add(n, own, *d.recurrent_bias) : own);
    } else {
      candidate = product(n, multiply(n, reset, hidden), d.recurrent_weights[1]);
    }
    candidate = activate(n, d, 1, add(n, parts(n, x, 1, 3, 2), candidate));
    return {add(n, multiply(n, one_minus(n, update), candidate), multiply(n, update, hidden))};
  };
  using Products = std::vector<size_t>;
  return recurrent_layer(n, {.products = reset_product ? Products{3} : Products{2, 1},
                             .separate_biases = reset_product ? size_t{1} : size_t{0},
                             .activations = {"Sigmoid", "Tanh"},
                             .step = step});
}

// i = f(x_i + H Ri' + Pi . C)    input gate
// f = f(x_f + H Rf' + Pf . C)    forget gate; 1 - i with input_forget
// c = g(x_c + H Rc')
// C' = f . C + i . c
// o = f(x_o + H Ro' + Po . C')   output gate
// H' = o . h(C')                 C' is not clipped, as in onnxruntime
Values lstm(Node& n, bool quantized) {
  const bool coupled = n.flag("input_forget", false);
  auto step = [coupled](Node& n, const Direction& d, const Value& x, const Values& states) -> Values {
    const Value& cell = states[1];
    Value gates = add(n, x, product(n, states[0], d.recurrent_weights[0]));
    enum Gate : size_t { in, out, forget, candidate };
    auto gate = [&](Gate k, const Value& seen) {
      Value own = parts(n, gates, 1, 4, k);
      return activate(n, d, 0, d.peepholes.empty() ? own : add(n, own, multiply(n, d.peepholes[k], seen)));
    };
    Value let_in = gate(in, cell), kept = coupled ? one_minus(n, let_in) : gate(forget, cell);
    Value proposed = activate(n, d, 1, parts(n, gates, 1, 4, candidate));
    Value next = add(n, multiply(n, kept, cell), multiply(n, let_in, proposed));
    return {multiply(n, gate(out, next), activate(n, d.activations[2], next)), next};
  };
  return recurrent_layer(
      n,
      {.quantized = quantized, .products = {4}, .states = 2, .activations = {"Sigmoid", "Tanh", "Tanh"}, .step = step});
}

Values convert_lstm(Node& n) { return lstm(n, false); }
Values convert_quantized_lstm(Node& n) { return lstm(n, true); }

}  // namespace

void add_recurrent(Table& table) {
  table.add({
      {"RNN", 1, "X W R B sequence_lens initial_h", 3, 6, 2, convert_rnn},
      {"GRU", 1, "X W R B sequence_lens initial_h", 3, 6, 2, convert_gru},
      {"LSTM", 1, "X W R B sequence_lens initial_h initial_c P", 3, 8, 3, convert_lstm},
      {"com.microsoft.DynamicQuantizeLSTM", 1,
       "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point R_scale R_zero_point", 12, 12, 3,
       convert_quantized_lstm},
  });
}

}  // namespace dlcc::frontends::onnx
