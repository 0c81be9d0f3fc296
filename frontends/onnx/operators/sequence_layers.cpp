// Layers of language models other than attention: RotaryEmbedding, CausalConvWithState, LinearAttention.
#include <cmath>

#include "frontends/onnx/operators/attention.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/rotary.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// ---- RotaryEmbedding ----------------------------------------------------------------------------------------------

// The rows of a cache at the positions, with an axis for the heads at `axis`.
Value cache_rows(Node& n, int input, int64_t axis) {
  Value cache = n.in(input);
  if (n.has(3)) cache = n.call("take", {cache, n.in(3)}, {{"axis", 0}, {"mode", "strict"}});
  return n.call("expand_dims", {cache}, {{"axis", axis}});
}

Values convert_rotary_embedding(Node& n) {
  const Value& given = n.in(0);
  const bool interleaved = n.flag("interleaved", false);
  const int64_t heads = n.integer("num_heads", 0);
  int64_t size = n.integer("rotary_embedding_dim", 0);
  if (!n.check(given.rank() == 3 || given.rank() == 4, DiagnosticId::shape_mismatch, "X must have 3 or 4 axes"))
    return {};
  Value x = given;
  if (given.rank() == 3) {
    const Shape& s = given.type.shape;
    if (!n.check(heads >= 1 && floor_mod(s[2], heads) == Dim(0), DiagnosticId::bad_attribute,
                 fmt::format("num_heads must divide the {} columns of X, found {}", s[2].str(), heads)))
      return {};
    x = n.reshape(given, {s[0], s[1], heads, floor_div(s[2], heads)});
  }
  auto whole = x.poisoned ? std::nullopt : x.type.shape[3].constant();
  if (!n.check(whole.has_value(), DiagnosticId::dynamic_shape, "the size of a head must be known")) return {};
  if (size == 0) size = *whole;
  if (!n.check(size > 0 && size <= *whole && size % 2 == 0, DiagnosticId::bad_attribute,
               fmt::format("rotary_embedding_dim must be even and at most {}, found {}", *whole, size)))
    return {};
  const int64_t axis = given.rank() == 3 ? 2 : 1;
  Value result = rotate_pairs(n, x, cache_rows(n, 1, axis), cache_rows(n, 2, axis), size, interleaved);
  return {given.rank() == 3 ? n.reshape(result, given.type.shape) : result};
}

// ---- CausalConvWithState ------------------------------------------------------------------------------------------

Values convert_causal_conv(Node& n) {
  const Value &x = n.in(0), &weight = n.in(1);
  const std::string activation = n.text("activation", "none");
  n.check(activation == "none" || activation == "silu" || activation == "swish", DiagnosticId::bad_attribute,
          fmt::format("activation is '{}'", activation), "it is none, silu or swish");
  n.check(x.rank() == 3 && weight.rank() == 3 && is_static(weight.type.shape), DiagnosticId::shape_mismatch,
          "input and weight must have 3 axes, weight of known size");
  if (n.failed()) return {};
  const int64_t channels = weight.type.shape[0].value(), taps = weight.type.shape[2].value();
  const Shape& s = x.type.shape;
  Value past = n.has(3) ? n.in(3) : zeros(n, x.type.dtype, {s[0], s[1], Dim(taps - 1)});
  Value all = n.call("concatenate", {past, x}, {{"axis", 2}});
  // A convolution has at least one window: one more than the input has elements if it may be empty.
  const bool may_be_empty = !provably_le(1, s[2]);
  const relay::AttrList none = {0, 0}, one = {0, 1};
  const Value windows = may_be_empty ? n.call("nn.pad", {all, n.scalar(x.type.dtype, 0)},
                                              {{"pad_width", relay::AttrList{none, none, one}}})
                                     : all;
  Value y = n.call("nn.conv1d", {windows, weight},
                   {{"groups", channels}, {"channels", channels}, {"kernel_size", relay::AttrList{taps}}});
  if (may_be_empty)
    y = n.call("strided_slice", {y},
               {{"begin", relay::AttrList{0}}, {"end", relay::sizes_attribute({s[2]})}, {"axes", relay::AttrList{2}}});
  if (n.has(2)) y = n.call("nn.bias_add", {y, n.in(2)}, {{"axis", 1}});
  if (activation != "none" && !y.poisoned) {
    Value wide = y.type.dtype == dtype::f64 ? y : n.cast(y, dtype::f32);
    y = n.cast(n.call("multiply", {wide, n.call("sigmoid", {wide})}), x.type.dtype);
  }
  Value state = n.call("strided_slice", {all},
                       {{"begin", relay::sizes_attribute({s[2]})},
                        {"end", relay::sizes_attribute({s[2] + Dim(taps - 1)})},
                        {"axes", relay::AttrList{2}}});
  return {y, state};
}

// ---- LinearAttention (Yang et al., "Gated Delta Networks", 2025) --------------------------------------------------

class LinearAttention {
 public:
  enum Input { query = 0, key = 1, value = 2, past_state = 3, decay = 4, beta = 5 };

  explicit LinearAttention(Node& n) : n_(n) {}

  Values convert() {
    read();
    if (n_.failed()) return {};
    const Shape& q = n_.in(query).type.shape;
    const Dim batch = q[0], length = q[1], key_size = floor_div(q[2], query_heads_),
              value_size = floor_div(n_.in(value).type.shape[2], key_heads_);
    if (!n_.check(key_size.is_constant(), DiagnosticId::dynamic_shape, "the size of a head must be known")) return {};
    scale_ = n_.number("scale", 0);
    if (scale_ == 0) scale_ = 1 / std::sqrt(static_cast<double>(key_size.value()));
    const DType stored = n_.has(past_state) ? n_.in(past_state).type.dtype : n_.in(query).type.dtype;
    const Shape state = {batch, key_heads_, key_size, value_size};
    LoopParts loop;
    loop.count = size_of_axis(n_, n_.in(query), 1);
    loop.length = length;
    loop.initial = {n_.has(past_state) ? wide(n_.in(past_state)) : zeros(n_, type_, state)};
    loop.names = {"state"};
    if (n_.failed() || loop.initial[0].poisoned) return {};
    const Values inputs = inputs_by_head();
    loop.iteration = [&](const Value& counter, const Values& carried) -> std::optional<Iteration> {
      Values now;
      for (const Value& v : inputs) now.push_back(v.poisoned ? v : slice_at(n_, v, counter, 1));
      Value next = updated(carried[0], now);
      return Iteration{{}, {next}, {{read_out(next, now[query]), 1}}};
    };
    auto results = loop_function(n_, std::move(loop));
    if (!results) return {};
    Value output = n_.reshape((*results)[1], {batch, length, Dim(query_heads_) * value_size});
    return {n_.cast(output, n_.in(query).type.dtype), n_.cast((*results)[0], stored)};
  }

 private:
  void read() {
    rule_ = n_.text("update_rule", "gated_delta");
    n_.ignore("chunk_size");  // a hint
    query_heads_ = n_.required_integer("q_num_heads");
    key_heads_ = n_.required_integer("kv_num_heads");
    gated_ = rule_ == "gated" || rule_ == "gated_delta";
    corrected_ = rule_ == "delta" || rule_ == "gated_delta";
    n_.check(gated_ || corrected_ || rule_ == "linear", DiagnosticId::bad_attribute,
             fmt::format("update_rule is '{}'", rule_), "it is linear, gated, delta or gated_delta");
    n_.check(n_.failed() || (query_heads_ >= 1 && key_heads_ >= 1 && query_heads_ % key_heads_ == 0),
             DiagnosticId::bad_attribute,
             fmt::format("{} query heads cannot be divided among {} key heads", query_heads_, key_heads_));
    n_.check(n_.has(decay) == gated_ && n_.has(beta) == corrected_, DiagnosticId::wrong_arity,
             fmt::format("update_rule '{}' needs {} the input decay and {} the input beta", rule_, gated_ ? "" : "not",
                         corrected_ ? "" : "not"));
    for (int k : {query, key, value, decay, beta}) {
      if (!n_.has(k)) continue;
      n_.check(n_.in(k).rank() == 3, DiagnosticId::shape_mismatch,
               fmt::format("{} must have 3 axes, found {}", n_.in(k).role, n_.in(k).rank()));
    }
    type_ = n_.failed() || n_.in(query).type.dtype != dtype::f64 ? dtype::f32 : dtype::f64;
  }

  Value wide(const Value& x) { return n_.cast(x, type_); }

  // [batch, length, heads * size] as [batch, length, heads, size].
  Value by_head(int input, int64_t heads) {
    const Shape& s = n_.in(input).type.shape;
    return wide(n_.reshape(n_.in(input), {s[0], s[1], heads, floor_div(s[2], heads)}));
  }

  // The inputs by their numbers. Decay and beta have one number per head, or a decay for each element of a key.
  Values inputs_by_head() {
    Values list = {by_head(query, query_heads_),
                   by_head(key, key_heads_),
                   by_head(value, key_heads_),
                   Value::poison(),
                   Value::poison(),
                   Value::poison()};
    if (gated_) list[decay] = n_.call("exp", {by_head(decay, key_heads_)});
    if (corrected_) list[beta] = by_head(beta, n_.in(beta).type.shape[2] == Dim(1) ? 1 : key_heads_);
    return list;
  }

  Value product(const Value& a, const Value& b) { return n_.call("multiply", {a, b}); }
  Value column(const Value& x) { return n_.call("expand_dims", {x}, {{"axis", -1}}); }
  Value row(const Value& x) { return n_.call("expand_dims", {x}, {{"axis", -2}}); }

  // The state after a step, [batch, key heads, key size, value size].
  Value updated(Value state, const Values& now) {
    if (gated_) state = product(state, column(now[decay]));
    Value written = now[value];
    if (corrected_) {
      Value stored = n_.call("nn.batch_matmul", {row(now[key]), state});  // [batch, heads, 1, value size]
      Value known = n_.call("squeeze", {stored}, {{"axis", relay::AttrList{-2}}});
      written = product(now[beta], n_.call("subtract", {written, known}));
    }
    return n_.call("add", {state, product(column(now[key]), row(written))});
  }

  // scale * query * state, [batch, query heads, value size].
  Value read_out(const Value& state, const Value& queries) {
    if (state.poisoned || queries.poisoned) return Value::poison();
    const Shape& q = queries.type.shape;
    Value rows = n_.reshape(queries, {q[0], key_heads_, query_heads_ / key_heads_, q[2]});
    Value result = n_.call("nn.batch_matmul", {rows, state});
    if (result.poisoned) return result;
    result = n_.reshape(result, {q[0], query_heads_, state.type.shape[3]});
    return product(result, n_.scalar(type_, scale_));
  }

  Node& n_;
  std::string rule_;
  int64_t query_heads_ = 0, key_heads_ = 0;
  bool gated_ = false, corrected_ = false;
  double scale_ = 0;
  DType type_ = dtype::f32;
};

Values convert_linear_attention(Node& n) { return LinearAttention(n).convert(); }

}  // namespace

void add_sequence_layers(Table& table) {
  table.add({
      {"RotaryEmbedding", 23, "X cos_cache sin_cache position_ids", 3, 4, 1, convert_rotary_embedding, true},
      {"CausalConvWithState", 27, "input weight bias past_state", 2, 4, 2, convert_causal_conv, true},
      {"LinearAttention", 27, "query key value past_state decay beta", 3, 6, 2, convert_linear_attention},
  });
  table.only_if("RotaryEmbedding", "the size of a head is known at compile time");
  table.only_if("LinearAttention", "the size of a head is known at compile time");
}

}  // namespace dlcc::frontends::onnx
