// Layers of transformers in the domain com.microsoft.
#include <cmath>
#include <limits>

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/attention.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/statistics.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// ---- normalization ------------------------------------------------------------------------------------------------

std::optional<Value> optional_input(Node& n, int k) { return n.has(k) ? std::optional(n.in(k)) : std::nullopt; }

// The mean and the reciprocal spread, which training reads, are not computed.
void reject_statistics(Node& n, int first, int last) {
  for (int k = first; k <= last; ++k)
    n.check(!n.wants(k), DiagnosticId::unsupported_attribute,
            "the outputs for training, mean and inv_std_var, are not supported", "export the model for inference");
}

Values convert_skip_layer_normalization(Node& n) {
  reject_statistics(n, 1, 2);
  Value sum = add(n, n.in(0), n.in(1));
  if (n.has(4)) sum = add(n, sum, n.in(4));
  Value y = standardize(n, sum, {-1}, n.in(2), optional_input(n, 3), n.number("epsilon", 1e-12f));
  return {y, Value::poison(), Value::poison(), sum};
}

Values convert_skip_simplified_layer_normalization(Node& n) {
  reject_statistics(n, 1, 2);
  Value sum = add(n, n.in(0), n.in(1));
  if (n.has(3)) sum = add(n, sum, n.in(3));
  Value y = standardize(n, sum, {-1}, n.in(2), std::nullopt, n.number("epsilon", 1e-5f), false);
  return {y, Value::poison(), Value::poison(), sum};
}

// The sum of word, position and segment embeddings, normalized; and the number of words that the mask keeps.
Values convert_embed_layer_normalization(Node& n) {
  enum { ids, segments, words, positions, segment_table, gamma, beta, mask, position_ids };
  const Value& id = n.in(ids);
  n.check(n.integer("mask_index_type", 1) <= 1, DiagnosticId::unsupported_attribute,
          "mask_index_type is not supported");
  if (!n.check(id.rank() == 2, DiagnosticId::shape_mismatch, "input_ids must have two axes")) return {};
  auto rows = [&](const Value& table, const Value& index) {
    return n.call("take", {table, index}, {{"axis", 0}, {"mode", "strict"}});
  };
  Value sum = rows(n.in(words), id);
  if (n.has(position_ids)) {
    sum = add(n, sum, rows(n.in(positions), n.in(position_ids)));
  } else {  // the first rows of the table
    Value first =
        n.call("strided_slice", {n.in(positions)},
               {{"begin", relay::AttrList{0}}, {"end", shape_attr({id.type.shape[1]})}, {"axes", relay::AttrList{0}}});
    sum = add(n, sum, first);
  }
  if (n.has(segments) && n.has(segment_table)) sum = add(n, sum, rows(n.in(segment_table), n.in(segments)));
  Value y = standardize(n, sum, {-1}, n.in(gamma), n.in(beta), n.number("epsilon", 1e-12f));
  Value kept = n.has(mask) ? n.call("sum", {n.cast(n.in(mask), dtype::i32)}, {{"axis", relay::AttrList{1}}})
                           : n.call("full", {n.scalar(dtype::i32, 0)}, {{"shape", shape_attr({id.type.shape[0]})}});
  return {y, kept, sum};
}

// ---- attention ----------------------------------------------------------------------------------------------------

// softmax(query * key' * scale + bias) * value for [batch, heads, length, size]; 0 in the padding mask removes a key.
Value attention(Node& n, const Value& query, const Value& key, const Value& value, double scale,
                const std::optional<Value>& bias, const std::optional<Value>& mask, double mask_value, bool causal) {
  Value scores = n.call("nn.batch_matmul", {query, key}, {{"transpose_b", true}});
  if (scores.poisoned) return scores;
  scores = multiply(n, scores, n.scalar(scores.type.dtype, scale));
  if (bias) scores = add(n, scores, *bias);
  if (mask) {
    Value keep = n.call("not_equal", {*mask, n.scalar(mask->type.dtype, 0)});
    Value none = n.scalar(scores.type.dtype, mask_value);
    scores = n.call("where", {keep, scores, add(n, scores, none)});
  }
  if (causal) {  // the last query is aligned with the last key
    Value offset = n.call("subtract", {size_of_axis(n, scores, 3), size_of_axis(n, scores, 2)});
    scores = n.call("matrix_band", {scores, offset},
                    {{"upper", 0}, {"mask_value", -std::numeric_limits<double>::infinity()}});
  }
  return n.call("nn.batch_matmul", {n.call("nn.softmax", {scores}, {{"axis", -1}}), value});
}

// A mask of keys as [batch, 1, 1, keys]; [batch] numbers of keys and masks with more axes are not supported.
std::optional<Value> key_mask(Node& n, int input) {
  if (!n.has(input)) return std::nullopt;
  const Value& m = n.in(input);
  if (!n.check(m.rank() == 2 || m.rank() == 3, DiagnosticId::unsupported_attribute,
               fmt::format("{} must have the axes batch and keys, or batch, queries and keys", m.role)))
    return std::nullopt;
  if (m.rank() == 3) return n.call("expand_dims", {m}, {{"axis", 1}});
  return n.call("expand_dims", {m}, {{"axis", 1}, {"num_newaxis", 2}});
}

double scale_or_default(Node& n, const Value& query) {
  const double given = n.number("scale", 0);
  auto size = query.poisoned ? std::nullopt : query.type.shape.back().constant();
  n.check(size || n.failed(), DiagnosticId::dynamic_shape, "the size of a head must be known");
  return given != 0 || !size ? given : 1 / std::sqrt(static_cast<double>(*size));
}

Values convert_multi_head_attention(Node& n) {
  enum { query, key, value, bias, mask, attention_bias, past_key, past_value };
  const int64_t heads = n.required_integer("num_heads");
  const double mask_value = n.number("mask_filter_value", -10000.0f);
  const bool causal = n.flag("unidirectional", false);
  n.check(n.has(key) && n.has(value) && n.in(query).rank() == 3, DiagnosticId::unsupported_attribute,
          "packed query, key and value are not supported", "give the three inputs separately");
  if (n.failed()) return {};
  Value parts[] = {n.in(query), n.in(key), n.in(value)};
  if (n.has(bias)) {
    int64_t at = 0;
    for (Value& part : parts) {
      auto width = n.in(query).type.shape[2].constant();
      if (!n.check(width.has_value(), DiagnosticId::dynamic_shape, "the hidden size must be known")) return {};
      const int64_t size = &part == &parts[2] ? n.in(bias).type.shape[0].constant().value_or(at) - at : *width;
      Value own = slice_of(n, n.in(bias), at, at + size);
      if (part.rank() == 3) part = add(n, part, own);
      at += size;
    }
  }
  for (Value& part : parts) part = split_heads(n, part, heads);
  if (n.has(past_key)) parts[1] = n.call("concatenate", {n.in(past_key), parts[1]}, {{"axis", 2}});
  if (n.has(past_value)) parts[2] = n.call("concatenate", {n.in(past_value), parts[2]}, {{"axis", 2}});
  const double scale = scale_or_default(n, parts[0]);
  Value y = attention(n, parts[0], parts[1], parts[2], scale, optional_input(n, attention_bias), key_mask(n, mask),
                      mask_value, causal);
  return {join_heads(n, y), parts[1], parts[2]};
}

}  // namespace

void add_microsoft_transformers(Table& table) {
  table.add({
      {"com.microsoft.SkipLayerNormalization", 1, "input skip gamma beta bias", 3, 5, 4,
       convert_skip_layer_normalization, true},
      {"com.microsoft.SkipSimplifiedLayerNormalization", 1, "input skip gamma bias", 3, 4, 4,
       convert_skip_simplified_layer_normalization, true},
      {"com.microsoft.EmbedLayerNormalization", 1,
       "input_ids segment_ids word_embedding position_embedding segment_embedding gamma beta mask position_ids", 7, 9,
       3, convert_embed_layer_normalization},
      {"com.microsoft.MultiHeadAttention", 1,
       "query key value bias key_padding_mask attention_bias past_key past_value", 1, 8, 3,
       convert_multi_head_attention},
  });
  table.only_if("com.microsoft.SkipLayerNormalization", "the outputs for training are unused");
  table.only_if("com.microsoft.SkipSimplifiedLayerNormalization", "the outputs for training are unused");
  table.only_if("com.microsoft.EmbedLayerNormalization", "mask_index_type is 0 or 1");
  table.only_if("com.microsoft.MultiHeadAttention",
                "query, key and value are separate, key_padding_mask has two or three axes, and the size of a head is "
                "known at compile time");
}

}  // namespace dlcc::frontends::onnx
