// GroupQueryAttention of the domain com.microsoft: causal attention whose keys and values of earlier runs are inputs.
#include <limits>

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/attention.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/masked_attention.h"
#include "frontends/onnx/operators/rotary.h"
#include "frontends/onnx/operators/statistics.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

class GroupQueryAttention {
 public:
  enum Input {
    query,
    key,
    value,
    past_key,
    past_value,
    last_key,
    total_length,
    cosine,
    sine,
    positions,
    attention_bias,
    head_sink,
    key_scale,
    value_scale,
    query_norm,
    key_norm,
    query_lengths
  };

  explicit GroupQueryAttention(Node& n) : n_(n) {}

  Values convert() {
    read();
    if (n_.failed() || !separate()) return {};
    normalize();
    if (n_.failed()) return {};
    if (n_.flag("do_rotary", false)) rotate();
    if (n_.has(past_key)) heads_.key = with_past(n_.in(past_key), heads_.key, 1);
    if (n_.has(past_value)) heads_.value = with_past(n_.in(past_value), heads_.value, 2);
    if (n_.failed() || heads_.poisoned()) return {};
    const double scale = attention_scale(n_, heads_.query);
    Value product =
        n_.call("nn.batch_matmul", {as_groups(n_, heads_.query, key_heads_), heads_.key}, {{"transpose_b", true}});
    if (product.poisoned) return {};
    Value scores = times(n_, from_groups(n_, product, query_heads_, rows_), scale);
    Value weights = probabilities(masked(scores));
    if (weights.poisoned) return {};
    Value result = n_.call("nn.batch_matmul", {as_groups(n_, weights, key_heads_), heads_.value});
    if (result.poisoned) return {};
    return {join_heads(n_, from_groups(n_, result, query_heads_, rows_)), heads_.key, heads_.value};
  }

 private:
  void read() {
    query_heads_ = n_.required_integer("num_heads");
    key_heads_ = n_.required_integer("kv_num_heads");
    softcap_ = n_.number("softcap", 0);
    causal_ = n_.flag("causal", true);
    window_ = n_.integer("local_window_size", -1);
    smooth_ = n_.flag("smooth_softmax", false);
    reject_inputs(n_, {key_scale, value_scale, query_lengths});
    for (const char* flag : {"sliding_window_cache", "qk_output"})
      n_.check(n_.integer(flag, 0) == 0, DiagnosticId::unsupported_attribute, fmt::format("{} is not supported", flag));
    for (const char* kind : {"k_quant_type", "v_quant_type"})
      n_.check(n_.text(kind, "NONE") == "NONE", DiagnosticId::unsupported_attribute,
               "quantized keys and values of earlier runs are not supported");
    n_.ignore("kv_cache_bit_width");
    n_.check(n_.has(key) == n_.has(value) && n_.has(past_key) == n_.has(past_value), DiagnosticId::wrong_arity,
             "key and value, and past_key and past_value, must be given together");
    if (!n_.check(n_.has(last_key) && n_.has(total_length), DiagnosticId::wrong_arity,
                  "seqlens_k and total_sequence_length must be given"))
      return;
    n_.check(n_.in(query).rank() == 3 && n_.in(last_key).rank() == 1, DiagnosticId::shape_mismatch,
             "query must have 3 axes, seqlens_k one");
    n_.check(n_.failed() || (key_heads_ >= 1 && query_heads_ >= 1 && query_heads_ % key_heads_ == 0),
             DiagnosticId::bad_attribute,
             fmt::format("{} query heads cannot be divided among {} key heads", query_heads_, key_heads_));
  }

  // Sets the heads, and the positions at which the tokens of this run begin; false if sizes do not fit.
  bool separate() {
    const Shape& s = n_.in(query).type.shape;
    Value parts[] = {n_.in(query), n_.has(key) ? n_.in(key) : n_.in(query),
                     n_.has(value) ? n_.in(value) : n_.in(query)};
    if (!n_.has(key)) {
      const auto columns = s[2].constant();
      const int64_t all = query_heads_ + 2 * key_heads_;
      if (!n_.check(columns && *columns % all == 0, DiagnosticId::shape_mismatch,
                    fmt::format("{} columns of query cannot be divided among {} heads", s[2].str(), all)))
        return false;
      const int64_t size = *columns / all, keys = query_heads_ * size, values = keys + key_heads_ * size;
      parts[0] = last_axis(n_, n_.in(query), 0, keys);
      parts[1] = last_axis(n_, n_.in(query), keys, values);
      parts[2] = last_axis(n_, n_.in(query), values, *columns);
    }
    heads_ = {split_heads(n_, parts[0], query_heads_), split_heads(n_, parts[1], key_heads_),
              split_heads(n_, parts[2], key_heads_)};
    rows_ = s[1];
    length_ = plus(n_, n_.cast(n_.in(last_key), dtype::i64), 1);
    before_ = n_.call("maximum", {subtract(n_, length_, size_of_axis(n_, n_.in(query), 1)), integer_scalar(0)});
    if (n_.failed() || heads_.poisoned()) return false;
    const Dim size = heads_.query.type.shape[3];
    return n_.check(size.is_constant(), DiagnosticId::dynamic_shape, "the size of a head must be known") &&
           n_.check(heads_.key.type.shape[3] == size, DiagnosticId::shape_mismatch,
                    fmt::format("heads of query have {} elements, those of key {}", size.str(),
                                heads_.key.type.shape[3].str()));
  }

  // Divides each head of query and key by its root mean square.
  void normalize() {
    const double epsilon = n_.number("qk_norm_epsilon", 1e-6f), of_query = n_.number("q_norm_epsilon", epsilon),
                 of_key = n_.number("k_norm_epsilon", epsilon);
    if (!n_.check(n_.has(query_norm) == n_.has(key_norm), DiagnosticId::wrong_arity,
                  "q_norm_weight and k_norm_weight must be given together") ||
        !n_.has(query_norm))
      return;
    auto normalized = [&](const Value& heads, int input, double e) {
      const Value& weight = n_.in(input);
      const Shape size = {heads.type.shape[3]};
      n_.check(weight.type.shape == size, DiagnosticId::shape_mismatch,
               fmt::format("{} must have shape {}, found {}", weight.role, str(size), str(weight.type.shape)));
      return n_.failed() ? Value::poison() : standardize(n_, heads, {-1}, weight, std::nullopt, e, false);
    };
    heads_.query = normalized(heads_.query, query_norm, of_query);
    heads_.key = normalized(heads_.key, key_norm, of_key);
  }

  Value iota(const Dim& count) {
    return n_.call("iota", {}, {{"shape", relay::sizes_attribute({count})}, {"dtype", "int64"}, {"axis", 0}});
  }
  Value before_as_column() { return n_.call("expand_dims", {before_}, {{"axis", 1}}); }  // [batch, 1]

  // The positions of the tokens of this run. In the first run, of which total_sequence_length is the number of tokens,
  // onnxruntime reads the first position only, and the other tokens follow it in all sequences.
  Value given_positions() {
    const Value& given = n_.in(positions);
    const Value first = slice_of(n_, n_.reshape(given, {product(given.type.shape)}), 0, 1);
    const Value counted = add(n_, n_.cast(first, dtype::i64), iota(rows_));
    const Value all = n_.call("expand_dims", {counted}, {{"axis", 0}});
    if (!n_.has(past_key)) return all;
    const Value total = n_.cast(n_.reshape(n_.in(total_length), {}), dtype::i64);
    const Value is_first = n_.call("equal", {total, n_.reshape(size_of_axis(n_, n_.in(query), 1), {})});
    return n_.call("where", {is_first, all, n_.cast(given, dtype::i64)});
  }

  void rotate() {
    if (!n_.check(n_.has(cosine) && n_.has(sine), DiagnosticId::wrong_arity, "do_rotary needs cos_cache and sin_cache"))
      return;
    const bool interleaved = n_.flag("rotary_interleaved", false);
    const auto half = n_.in(cosine).rank() == 2 ? n_.in(cosine).type.shape[1].constant() : std::nullopt;
    if (!n_.check(half && *half * 2 <= heads_.query.type.shape[3].value(), DiagnosticId::shape_mismatch,
                  "cos_cache must have at most half as many columns as a head"))
      return;
    const Value at = n_.has(positions) ? given_positions() : add(n_, before_as_column(), iota(rows_));
    auto rows = [&](int cache) {
      Value all = n_.call("take", {n_.in(cache), at}, {{"axis", 0}, {"mode", "strict"}});
      return n_.call("expand_dims", {all}, {{"axis", 1}});
    };
    const Value c = rows(cosine), s = rows(sine);
    heads_.query = rotate_pairs(n_, heads_.query, c, s, *half * 2, interleaved);
    heads_.key = rotate_pairs(n_, heads_.key, c, s, *half * 2, interleaved);
  }

  // Keys or values of earlier runs, and those of this run after them, where the sequences may have different lengths.
  // The result has the size that output `output` declares if that is the size of `past`: the model then keeps its keys
  // in a buffer for the longest sequence.
  Value with_past(const Value& past, const Value& now, size_t output) {
    if (past.poisoned || now.poisoned) return Value::poison();
    if (!n_.check(past.rank() == 4, DiagnosticId::shape_mismatch, fmt::format("{} must have 4 axes", past.role)))
      return Value::poison();
    const Dim earlier = past.type.shape[2];
    const auto declared = n_.wants(static_cast<int>(output)) ? n_.declared_shape(output) : std::nullopt;
    const bool in_buffer = declared && declared->size() == 4 && (*declared)[2] == earlier;
    const Dim all = in_buffer ? earlier : earlier + rows_;
    Value joined = n_.call("concatenate", {past, now}, {{"axis", 2}});
    if (joined.poisoned) return joined;
    const Value at = iota(all), first = before_as_column();  // broadcast to [batch, keys]
    Value of_this_run = add(n_, subtract(n_, at, first), size_of_axis(n_, past, 2));
    of_this_run = n_.call("minimum", {of_this_run, subtract(n_, size_of_axis(n_, joined, 2), integer_scalar(1))});
    Value index = n_.call("where", {n_.call("less", {at, first}), at, of_this_run});
    index = n_.call("expand_dims", {n_.call("expand_dims", {index}, {{"axis", 1}})}, {{"axis", 3}});
    Shape shape = joined.type.shape;
    shape[2] = all;
    return n_.call("gather", {joined, n_.call("broadcast_to", {index}, {{"shape", relay::sizes_attribute(shape)}})},
                   {{"axis", 2}});
  }

  Value masked(Value scores) {
    if (softcap_ > 0) scores = times(n_, n_.call("tanh", {times(n_, scores, 1 / softcap_)}), softcap_);
    if (n_.has(attention_bias)) scores = add(n_, scores, n_.in(attention_bias));
    relay::Attrs band = {{"mask_value", never}};
    if (causal_) band["upper"] = 0;
    if (window_ > 0) band["lower"] = 1 - window_;
    if (band.size() > 1) scores = n_.call("matrix_band", {scores, before_}, band);
    return n_.call("sequence_mask", {scores, length_}, {{"mask_value", never}, {"axis", 3}});
  }

  // Softmax, with one more score of which the probability is dropped: a number for each head, or 0.
  Value probabilities(const Value& scores) {
    if (scores.poisoned || (!smooth_ && !n_.has(head_sink)))
      return scores.poisoned ? scores : n_.call("nn.softmax", {scores}, {{"axis", -1}});
    Value sink = n_.scalar(scores.type.dtype, 0);
    if (n_.has(head_sink)) sink = n_.call("expand_dims", {n_.in(head_sink)}, {{"axis", 1}, {"num_newaxis", 2}});
    Shape shape = scores.type.shape;
    const Dim keys = shape[3];
    shape[3] = 1;
    Value column = n_.call("broadcast_to", {sink}, {{"shape", relay::sizes_attribute(shape)}});
    Value all = n_.call("nn.softmax", {n_.call("concatenate", {scores, column}, {{"axis", 3}})}, {{"axis", -1}});
    return n_.call(
        "strided_slice", {all},
        {{"begin", relay::AttrList{0}}, {"end", relay::sizes_attribute({keys})}, {"axes", relay::AttrList{3}}});
  }

  Node& n_;
  AttentionHeads heads_;
  int64_t query_heads_ = 0, key_heads_ = 0, window_ = -1;
  double softcap_ = 0;
  bool causal_ = true, smooth_ = false;
  Dim rows_;               // tokens of this run
  Value length_, before_;  // [batch]: the keys that are valid after this run, and those before it
};

Values convert_group_query_attention(Node& n) { return GroupQueryAttention(n).convert(); }

}  // namespace

void add_microsoft_group_query_attention(Table& table) {
  table.add({
      {"com.microsoft.GroupQueryAttention", 1,
       "query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache position_ids "
       "attention_bias head_sink k_scale v_scale q_norm_weight k_norm_weight query_seqlens",
       1, 17, 3, convert_group_query_attention},
  });
  table.only_if(
      "com.microsoft.GroupQueryAttention",
      "the size of a head is known at compile time, keys and values of earlier runs are not quantized and have "
      "no sliding window");
}

}  // namespace dlcc::frontends::onnx
