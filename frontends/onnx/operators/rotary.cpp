#include "frontends/onnx/operators/rotary.h"

namespace dlcc::frontends::onnx {

Value last_axis(Node& n, const Value& x, int64_t begin, int64_t end, int64_t step) {
  return n.call("strided_slice", {x},
                {{"begin", relay::AttrList{begin}},
                 {"end", relay::AttrList{end}},
                 {"strides", relay::AttrList{step}},
                 {"axes", relay::AttrList{x.rank() - 1}}});
}

// All elements of the first `size`, rotated.
static Value rotated(Node& n, const Value& x, const Value& cosine, const Value& sine, int64_t size, bool interleaved) {
  const int64_t half = size / 2;
  Value a = interleaved ? last_axis(n, x, 0, size, 2) : last_axis(n, x, 0, half);
  Value b = interleaved ? last_axis(n, x, 1, size, 2) : last_axis(n, x, half, size);
  auto product = [&](const Value& u, const Value& v) { return n.call("multiply", {u, v}); };
  Value first = n.call("subtract", {product(cosine, a), product(sine, b)});
  Value second = n.call("add", {product(sine, a), product(cosine, b)});
  if (!interleaved) return n.call("concatenate", {first, second}, {{"axis", -1}});
  auto column = [&](const Value& v) { return n.call("expand_dims", {v}, {{"axis", -1}}); };
  Value pairs = n.call("concatenate", {column(first), column(second)}, {{"axis", -1}});
  if (pairs.poisoned) return pairs;
  Shape shape = x.type.shape;
  shape.back() = size;
  return n.reshape(pairs, shape);
}

Value rotate_pairs(Node& n, const Value& x, const Value& cosine, const Value& sine, int64_t size, bool interleaved) {
  if (x.poisoned) return x;
  Value result = rotated(n, x, cosine, sine, size, interleaved);
  const int64_t whole = x.type.shape.back().value();
  return size < whole ? n.call("concatenate", {result, last_axis(n, x, size, whole)}, {{"axis", -1}}) : result;
}

}  // namespace dlcc::frontends::onnx
