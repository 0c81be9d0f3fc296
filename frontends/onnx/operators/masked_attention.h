// The attention of com.microsoft: softmax(query * key' * scale + bias) * value, with keys that masks hide.
#pragma once

#include <optional>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

// [batch, heads, rows, size of a head] each.
struct AttentionHeads {
  Value query, key, value;

  bool poisoned() const { return query.poisoned || key.poisoned || value.poisoned; }
};

struct AttentionMask {
  std::optional<Value> bias;  // added to the scores, broadcast to [batch, heads, queries, keys]
  std::optional<Value> keep;  // a bool, broadcast likewise: false adds `hidden` to a score
  double hidden = -10000;
  // No query reads keys after its own; `past` keys, by default none, are before that of the first query. As in
  // onnxruntime, the last query reads all keys.
  bool causal = false;
  std::optional<Value> past;  // of type int64 and rank 0
};

// query * key' * scale + bias, with -infinity for keys that come after a query.
Value masked_scores(Node&, const AttentionHeads&, double scale, const AttentionMask&);

// softmax(scores) * value
Value attended(Node&, const Value& scores, const Value& value);

Value masked_attention(Node&, const AttentionHeads&, double scale, const AttentionMask&);

// The attributes scale, by default 1 / sqrt(size of a head), mask_filter_value and unidirectional.
double attention_scale(Node&, const Value& query);
AttentionMask mask_attributes(Node&);

// Which keys an input keeps: [batch, keys] or [batch, queries, keys] with positive numbers for kept keys, [batch]
// numbers of keys, or [2 * batch] with the ends of the keys, then their beginnings.
std::optional<Value> kept_keys(Node&, int input, const AttentionHeads&);

// Reports one of these optional inputs that the node has.
void reject_inputs(Node&, std::initializer_list<int> inputs);

}  // namespace dlcc::frontends::onnx
