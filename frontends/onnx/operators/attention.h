// Building blocks of attention, for several operators.
#pragma once

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// [batch, length, heads * size] as [batch, heads, length, size]; tensors with 4 axes have this form already.
// join_heads() is the inverse.
Value split_heads(Node&, const Value&, int64_t heads);
Value join_heads(Node&, const Value&);

// [batch, query heads, rows, columns] as [batch, key heads, query heads per key head * rows, columns], and back: a
// product with keys or values then repeats neither.
Value as_groups(Node&, const Value&, const Dim& key_heads);
Value from_groups(Node&, const Value&, const Dim& query_heads, const Dim& rows);

// Softmax along the last axis, with 0 where all elements are -infinity.
Value guarded_softmax(Node&, const Value& scores);

}  // namespace dlcc::frontends::onnx
