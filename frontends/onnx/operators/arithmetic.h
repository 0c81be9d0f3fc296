// Arithmetic on values as calls of Relay operators, for operators that the standard defines by formulas.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// A scalar constant of the value's element type.
Value constant_like(Node&, const Value& like, double number);

Value add(Node&, const Value&, const Value&);
Value subtract(Node&, const Value&, const Value&);
Value multiply(Node&, const Value&, const Value&);
Value divide(Node&, const Value&, const Value&);
Value plus(Node&, const Value&, double offset);
Value times(Node&, const Value&, double factor);  // the value itself for 1

// A formula over several operators, computed in float32 if the type is float16 or bfloat16: only its result is rounded.
template <class Formula>
Value in_float32(Node& n, const Value& x, const Formula& formula) {
  const DType type = x.type.dtype;
  const bool narrow = type == dtype::f16 || type == dtype::bf16;
  return n.cast(formula(narrow ? n.cast(x, dtype::f32) : x), type);
}

// x for x >= 0, else alpha (e^x - 1).
Value elu(Node&, const Value& x, double alpha);
// log(1 + e^x), without overflow.
Value softplus(Node&, const Value& x);
// x (1 + erf(x / sqrt(2))) / 2, and its approximation by tanh.
Value gelu(Node&, const Value& x);
Value gelu_by_tanh(Node&, const Value& x);

}  // namespace dlcc::frontends::onnx
