// Attention, its quantized form and MultiHeadAttention of the domain com.microsoft, and its RotaryEmbedding.
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/attention.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/masked_attention.h"
#include "frontends/onnx/operators/quantization.h"
#include "frontends/onnx/operators/rotary.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// The slice at index `k` of an axis, without this axis.
Value picked(Node& n, const Value& x, int64_t axis, int64_t k) {
  Value one = n.call("strided_slice", {x},
                     {{"begin", relay::AttrList{k}}, {"end", relay::AttrList{k + 1}}, {"axes", relay::AttrList{axis}}});
  return n.call("squeeze", {one}, {{"axis", relay::AttrList{axis}}});
}

Value joined(Node& n, const Value& past, const Value& now) { return n.call("concatenate", {past, now}, {{"axis", 2}}); }

// ---- Attention ----------------------------------------------------------------------------------------------------

// The widths of query, key and value: the attribute, or equal thirds of the weights' columns.
std::optional<std::vector<int64_t>> projected_widths(Node& n, const Value& weights) {
  const auto given = n.integers("qkv_hidden_sizes");
  const auto columns = weights.rank() == 2 ? weights.type.shape[1].constant() : std::nullopt;
  if (!n.check(columns.has_value(), DiagnosticId::shape_mismatch, "weights must be a matrix of known size"))
    return std::nullopt;
  const std::vector<int64_t> widths = given ? *given : std::vector<int64_t>(3, *columns / 3);
  const bool fits = widths.size() == 3 && widths[0] + widths[1] + widths[2] == *columns;
  n.check(fits, DiagnosticId::shape_mismatch,
          fmt::format("the {} columns of weights cannot be divided among query, key and value", *columns),
          "qkv_hidden_sizes has their three widths");
  return fits ? std::optional(widths) : std::nullopt;
}

// Query, key and value are the columns `all` of one product. The inputs that a node may have, as positions: the mask,
// keys and values of earlier runs, and what is added to the scores, or -1.
Values packed_attention(Node& n, const Value& all, const std::vector<int64_t>& widths, int mask_index, int past,
                        int attention_bias) {
  const int64_t heads = n.required_integer("num_heads");
  AttentionMask mask = mask_attributes(n);
  for (const char* flag : {"do_rotary", "past_present_share_buffer"})
    n.check(!n.flag(flag, false), DiagnosticId::unsupported_attribute, fmt::format("{} is not supported", flag));
  if (n.failed() || all.poisoned) return {};
  int64_t at = 0;
  Values parts;
  for (int64_t width : widths) {
    parts.push_back(split_heads(n, last_axis(n, all, at, at + width), heads));
    at += width;
  }
  if (n.has(past)) {
    mask.past = size_of_axis(n, n.in(past), 3);
    for (int64_t k : {0, 1})
      parts[static_cast<size_t>(k) + 1] = joined(n, picked(n, n.in(past), 0, k), parts[static_cast<size_t>(k) + 1]);
  }
  const AttentionHeads qkv{parts[0], parts[1], parts[2]};
  if (attention_bias >= 0 && n.has(attention_bias)) mask.bias = n.in(attention_bias);
  mask.keep = kept_keys(n, mask_index, qkv);
  Value y = join_heads(n, masked_attention(n, qkv, attention_scale(n, qkv.query), mask));
  if (!n.wants(1)) return {y};
  auto first = [&](const Value& x) { return n.call("expand_dims", {x}, {{"axis", 0}}); };
  return {y, n.call("concatenate", {first(qkv.key), first(qkv.value)}, {{"axis", 0}})};
}

// Query, key and value from one product.
Values convert_packed_attention(Node& n) {
  enum { input, weights, bias, mask_index, past, attention_bias, past_length };
  reject_inputs(n, {past_length});
  n.ignore("rotary_embedding_dim");
  n.check(n.in(input).rank() == 3, DiagnosticId::shape_mismatch, "input must have 3 axes");
  const auto widths = projected_widths(n, n.in(weights));
  if (n.failed() || !widths) return {};
  Value all = n.call("nn.matmul", {n.in(input), n.in(weights)});
  if (n.has(bias)) all = add(n, all, n.in(bias));
  return packed_attention(n, all, *widths, mask_index, past, attention_bias);
}

// The same, with a product of quantized numbers.
Values convert_quantized_attention(Node& n) {
  enum { input, weights, bias, input_scale, weight_scale, mask_index, input_zero, weight_zero, past };
  n.check(n.in(input).rank() == 3, DiagnosticId::shape_mismatch, "input must have 3 axes");
  const auto widths = projected_widths(n, n.in(weights));
  if (n.failed() || !widths) return {};
  Value sums = n.call("nn.matmul", {centred(n, n.in(input), n.optional_in(input_zero)),
                                    centred(n, n.in(weights), n.optional_in(weight_zero))});
  if (sums.poisoned) return {};
  Value all = multiply(n, n.cast(sums, dtype::f32), multiply(n, n.in(input_scale), n.in(weight_scale)));
  return packed_attention(n, add(n, all, n.in(bias)), *widths, mask_index, past, -1);
}

// ---- MultiHeadAttention -------------------------------------------------------------------------------------------

// The `count` parts of a tensor [batch, length, heads, count, size], as [batch, length, heads * size] each; none if it
// has other axes.
Values unpacked(Node& n, const Value& packed, int64_t count) {
  const Shape& s = packed.type.shape;
  Values parts;
  if (s[3] != Dim(count)) return parts;
  for (int64_t k = 0; k < count; ++k) {
    Value part = picked(n, packed, 3, k);
    parts.push_back(part.poisoned ? part : n.reshape(part, {s[0], s[1], s[2] * s[4]}));
  }
  return parts;
}

// Query, key and value, of which the last two or all three may be packed in one tensor. A key or value with 4 axes has
// its heads apart.
Values separate_inputs(Node& n) {
  enum { query, key, value };
  const bool all_packed = n.in(query).rank() == 5, two_packed = n.has(key) && n.in(key).rank() == 5;
  Values parts = all_packed ? unpacked(n, n.in(query), 3) : Values{n.in(query)};
  if (two_packed)
    for (const Value& part : unpacked(n, n.in(key), 2)) parts.push_back(part);
  else if (n.has(key))
    parts.push_back(n.in(key));
  if (n.has(value)) parts.push_back(n.in(value));
  n.check(parts.size() == 3 && parts[0].rank() == 3, DiagnosticId::shape_mismatch,
          "query, key and value must be three inputs with 3 axes, or query, or key, must have all that is missing, "
          "packed in [batch, length, heads, 3 or 2, size]");
  return parts;
}

// Adds to query, key and value their parts of the bias.
void add_biases(Node& n, const Value& bias, Values& parts) {
  if (!n.check(bias.rank() == 1, DiagnosticId::shape_mismatch, "bias must have one axis")) return;
  int64_t at = 0;
  auto width = parts[0].type.shape[2].constant();
  if (!n.check(width.has_value(), DiagnosticId::dynamic_shape, "the hidden size must be known")) return;
  for (size_t k = 0; k < parts.size(); ++k) {
    const int64_t size = k == 2 ? bias.type.shape[0].constant().value_or(at) - at : *width;
    if (parts[k].rank() == 3) parts[k] = add(n, parts[k], slice_of(n, bias, at, at + size));
    at += size;
  }
}

// The scores as onnxruntime returns them: the least finite number instead of -infinity.
Value finite(Node& n, const Value& scores) {
  if (scores.poisoned) return scores;
  const DType type = scores.type.dtype;
  const double largest = type == dtype::f16 ? 0x1.ffcp15 : type == dtype::bf16 ? 0x1.fep127 : 0x1.fffffep127;
  return n.call("maximum", {scores, n.scalar(type, -largest)});
}

Values convert_multi_head_attention(Node& n) {
  enum { query, key, value, bias, padding_mask, attention_bias, past_key, past_value, past_length, cache_indirection };
  const int64_t heads = n.required_integer("num_heads");
  AttentionMask mask = mask_attributes(n);
  reject_inputs(n, {past_length, cache_indirection});
  Values parts = separate_inputs(n);
  if (n.failed()) return {};
  if (n.has(bias)) add_biases(n, n.in(bias), parts);
  for (Value& part : parts) part = split_heads(n, part, heads);
  if (n.has(past_key)) {
    mask.past = size_of_axis(n, n.in(past_key), 2);
    parts[1] = joined(n, n.in(past_key), parts[1]);
  }
  if (n.has(past_value)) parts[2] = joined(n, n.in(past_value), parts[2]);
  const AttentionHeads qkv{parts[0], parts[1], parts[2]};
  if (n.has(attention_bias)) mask.bias = n.in(attention_bias);
  mask.keep = kept_keys(n, padding_mask, qkv);
  const Value scores = masked_scores(n, qkv, attention_scale(n, qkv.query), mask);
  Values results = {join_heads(n, attended(n, scores, qkv.value)), parts[1], parts[2]};
  if (n.wants(3)) results.push_back(finite(n, scores));
  return results;
}

// ---- RotaryEmbedding ----------------------------------------------------------------------------------------------

// The rows of a cache at the positions of [batch, length] tokens, or from one position on.
Value cache_rows(Node& n, const Value& cache, const Value& positions, const Dim& length) {
  Value at = positions;
  if (positions.rank() == 1) {
    Value count = n.call("iota", {}, {{"shape", relay::sizes_attribute({length})}, {"dtype", "int64"}, {"axis", 0}});
    at = n.call("add", {n.cast(positions, dtype::i64), count});
  }
  return n.call("take", {cache, at}, {{"axis", 0}, {"mode", "strict"}});
}

Values convert_cached_rotary_embedding(Node& n) {
  enum { input, positions, cosine, sine };
  const Value& x = n.in(input);
  const bool interleaved = n.flag("interleaved", false);
  int64_t heads = n.integer("num_heads", 0);
  int64_t size = n.integer("rotary_embedding_dim", 0);
  n.check(!n.flag("is_packed_batching", false), DiagnosticId::unsupported_attribute,
          "is_packed_batching is not supported");
  n.check(n.number("scale", 1) == 1, DiagnosticId::unsupported_attribute, "scale must be 1");
  const auto half = n.in(cosine).rank() == 2 ? n.in(cosine).type.shape[1].constant() : std::nullopt;
  n.check(half.value_or(0) > 0, DiagnosticId::shape_mismatch,
          "cos_cache must be a matrix with a known number of columns");
  n.check(x.rank() == 3 || x.rank() == 4, DiagnosticId::shape_mismatch, "input must have 3 or 4 axes");
  if (n.failed()) return {};
  const Shape s = x.type.shape;
  if (size == 0) size = *half * 2;
  const bool apart = x.rank() == 4;  // [batch, heads, length, size]
  const auto width = s.back().constant();
  if (!apart && heads == 0 && width) heads = *width / size;
  n.check(width.has_value(), DiagnosticId::dynamic_shape, "the size of a head must be known");
  n.check(n.failed() || apart || (heads > 0 && *width % heads == 0), DiagnosticId::bad_attribute,
          fmt::format("{} columns cannot be divided among {} heads", s.back().str(), heads));
  const int64_t whole = n.failed() ? 0 : apart ? *width : *width / heads;
  n.check(n.failed() || (size <= whole && size % 2 == 0), DiagnosticId::bad_attribute,
          fmt::format("rotary_embedding_dim must be even and at most {}, found {}", whole, size));
  if (n.failed()) return {};
  auto rows = [&](int cache) {
    Value all = cache_rows(n, n.in(cache), n.in(positions), apart ? s[2] : s[1]);
    return n.call("expand_dims", {all}, {{"axis", apart ? all.rank() - 2 : all.rank() - 1}});
  };
  Value data = apart ? x : n.reshape(x, {s[0], s[1], heads, whole});
  Value y = rotate_pairs(n, data, rows(cosine), rows(sine), size, interleaved);
  return {apart ? y : n.reshape(y, s)};
}

}  // namespace

void add_microsoft_attention(Table& table) {
  table.add({
      {"com.microsoft.Attention", 1, "input weights bias mask_index past attention_bias past_sequence_length", 2, 7, 2,
       convert_packed_attention},
      {"com.microsoft.QAttention", 1,
       "input weight bias input_scale weight_scale mask_index input_zero_point weight_zero_point past", 5, 9, 2,
       convert_quantized_attention},
      {"com.microsoft.MultiHeadAttention", 1,
       "query key value bias key_padding_mask attention_bias past_key past_value past_sequence_length "
       "cache_indirection",
       1, 10, 4, convert_multi_head_attention},
      {"com.microsoft.RotaryEmbedding", 1, "input position_ids cos_cache sin_cache", 4, 4, 1,
       convert_cached_rotary_embedding, true},
  });
  const std::string condition =
      "the size of a head is known at compile time, masks have one axis, with one or two numbers for each sequence, or "
      "two or three axes, and keys of earlier runs are joined, not stored in place";
  table.only_if("com.microsoft.Attention", condition);
  table.only_if("com.microsoft.QAttention", condition);
  table.only_if("com.microsoft.MultiHeadAttention", condition);
  table.only_if("com.microsoft.RotaryEmbedding",
                "the size of a head is known at compile time, scale is 1, and is_packed_batching is 0");
}

}  // namespace dlcc::frontends::onnx
