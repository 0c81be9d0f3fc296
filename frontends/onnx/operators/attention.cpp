// Attention and FlexAttention. The query heads that share a key head (grouped-query attention, Ainslie et al., "GQA",
// 2023) are rows of one matrix product, so that neither keys nor values are repeated.
#include "frontends/onnx/operators/attention.h"

#include <cmath>
#include <limits>

#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {

Value split_heads(Node& n, const Value& x, int64_t heads) {
  if (x.poisoned || x.rank() == 4) return x;
  if (!n.check(x.rank() == 3, DiagnosticId::shape_mismatch,
               fmt::format("{} must have 3 or 4 axes, found {}", x.role, x.rank())) ||
      !n.check(heads >= 1, DiagnosticId::bad_attribute, "the numbers of heads must be given for inputs with 3 axes") ||
      !n.check(floor_mod(x.type.shape[2], heads) == Dim(0), DiagnosticId::shape_mismatch,
               fmt::format("{} columns of {} cannot be divided among {} heads", x.type.shape[2].str(), x.role, heads)))
    return Value::poison();
  const Shape& s = x.type.shape;
  Value split = n.reshape(x, {s[0], s[1], heads, floor_div(s[2], heads)});
  return n.call("transpose", {split}, {{"axes", relay::AttrList{0, 2, 1, 3}}});
}

Value join_heads(Node& n, const Value& x) {
  if (x.poisoned) return x;
  const Shape& s = x.type.shape;
  return n.reshape(n.call("transpose", {x}, {{"axes", relay::AttrList{0, 2, 1, 3}}}), {s[0], s[2], s[1] * s[3]});
}

Value guarded_softmax(Node& n, const Value& scores) {
  Value largest = n.call("max", {scores}, {{"axis", relay::AttrList{-1}}, {"keepdims", true}});
  Value none = n.call("equal", {largest, n.scalar(scores.type.dtype, -std::numeric_limits<double>::infinity())});
  return n.call("where", {none, n.scalar(scores.type.dtype, 0), n.call("nn.softmax", {scores}, {{"axis", -1}})});
}

Value as_groups(Node& n, const Value& x, const Dim& key_heads) {
  const Shape& s = x.type.shape;
  if (s[1] == key_heads) return x;
  return n.reshape(x, {s[0], key_heads, floor_div(s[1], key_heads) * s[2], s[3]});
}
Value from_groups(Node& n, const Value& x, const Dim& query_heads, const Dim& rows) {
  const Shape& s = x.type.shape;
  return s[1] == query_heads ? x : n.reshape(x, {s[0], query_heads, rows, s[3]});
}

namespace {

// [batch, heads, rows, head size] of queries, keys and values.
struct Heads {
  Value query, key, value;

  bool poisoned() const { return query.poisoned || key.poisoned || value.poisoned; }
  Dim query_heads() const { return query.type.shape[1]; }
  Dim key_heads() const { return key.type.shape[1]; }
  Dim rows() const { return query.type.shape[2]; }
};

bool check_groups(Node& n, const Heads& h) {
  if (n.failed() || h.poisoned()) return false;
  const Dim rest = floor_mod(h.query_heads(), h.key_heads());
  return n.check(rest == Dim(0), DiagnosticId::shape_mismatch,
                 fmt::format("{} query heads cannot be divided among {} key heads", h.query_heads().str(),
                             h.key_heads().str())) &&
         n.check(h.query.type.shape[3].is_constant(), DiagnosticId::dynamic_shape, "the size of a head must be known");
}

// query * keyᵀ * scale. float16 is scaled before the product, which might overflow.
Value scores_of(Node& n, const Heads& h, std::optional<double> scale) {
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(h.query.type.shape[3].value())));
  const bool early = h.query.type.dtype == dtype::f16;
  auto scaled = [&](const Value& x) { return n.call("multiply", {x, n.scalar(x.type.dtype, factor)}); };
  Value rows = as_groups(n, early ? scaled(h.query) : h.query, h.key_heads());
  Value product = n.call("nn.batch_matmul", {rows, h.key}, {{"transpose_b", true}});
  if (product.poisoned) return product;
  return from_groups(n, early ? product : scaled(product), h.query_heads(), h.rows());
}

// A type that holds the values of both.
DType wider(DType a, DType b) {
  if (a == b || bits(a) > bits(b)) return a;
  return bits(a) < bits(b) ? b : dtype::f32;
}

// The result has the type of the queries; values of another type are multiplied in the wider one.
Value weighted_values(Node& n, const Value& probabilities, const Heads& h) {
  if (probabilities.poisoned) return probabilities;
  const DType type = wider(probabilities.type.dtype, h.value.type.dtype);
  const Value rows = n.cast(as_groups(n, probabilities, h.key_heads()), type);
  const Value product = n.call("nn.batch_matmul", {rows, n.cast(h.value, type)});
  if (product.poisoned) return product;
  return n.cast(from_groups(n, product, h.query_heads(), h.rows()), probabilities.type.dtype);
}

std::optional<double> given_scale(Node& n) {
  return n.has_attr("scale") ? std::optional(n.number("scale", 1)) : std::nullopt;
}

std::optional<DType> softmax_precision(Node& n) {
  const int64_t number = n.integer("softmax_precision", 0);
  if (number == 0) return std::nullopt;
  auto type = dtype_of_onnx(static_cast<int>(number));
  n.check(type && is_float(*type) && bits(*type) >= 16, DiagnosticId::bad_attribute,
          fmt::format("softmax_precision is {}", number),
          "it is 1 (float), 10 (float16), 11 (double) or 16 (bfloat16)");
  return n.failed() ? std::nullopt : type;
}

// ---- Attention ----------------------------------------------------------------------------------------------------

class Attention {
 public:
  enum Input { query = 0, key = 1, value = 2, mask = 3, past_key = 4, past_value = 5, lengths = 6 };

  explicit Attention(Node& n) : n_(n) {}

  Values convert() {
    read();
    if (!check_groups(n_, heads_)) return {};
    Value scores = scores_of(n_, heads_, given_scale(n_));
    Value shown = scores;  // the output qk_matmul_output
    if (softcap_ > 0) scores = capped(scores);
    if (mode_ == 1) shown = scores;
    scores = masked(scores);
    if (mode_ == 2) shown = scores;
    const DType type = heads_.query.type.dtype;
    const Value precise = precision_ ? n_.cast(scores, *precision_) : scores;
    Value probabilities =
        may_mask_rows() ? guarded_softmax(n_, precise) : n_.call("nn.softmax", {precise}, {{"axis", -1}});
    if (!probabilities.poisoned) probabilities = n_.cast(probabilities, type);
    if (mode_ == 3) shown = probabilities;
    Value result = weighted_values(n_, probabilities, heads_);
    if (n_.in(query).rank() == 3) result = join_heads(n_, result);
    return {result, heads_.key, heads_.value, shown};
  }

 private:
  void read() {
    softcap_ = n_.number("softcap", 0);
    mode_ = n_.integer("qk_matmul_output_mode", 0);
    causal_ = n_.flag("is_causal", false);
    precision_ = softmax_precision(n_);
    left_ = n_.integer("left_window_size", -1);
    right_ = n_.integer("right_window_size", -1);
    n_.check(mode_ >= 0 && mode_ <= 3, DiagnosticId::bad_attribute,
             fmt::format("qk_matmul_output_mode must be in [0, 3], found {}", mode_));
    n_.check(left_ >= -1 && right_ >= -1, DiagnosticId::bad_attribute, "window sizes must be at least -1");
    n_.check(n_.has(past_key) == n_.has(past_value), DiagnosticId::wrong_arity,
             "past_key and past_value must be given together");
    n_.check(!n_.has(lengths) || !n_.has(past_key), DiagnosticId::wrong_arity,
             "nonpad_kv_seqlen and past_key exclude each other");
    const int64_t query_heads = n_.integer("q_num_heads", 0), key_heads = n_.integer("kv_num_heads", 0);
    heads_ = {split_heads(n_, n_.in(query), query_heads), split_heads(n_, n_.in(key), key_heads),
              split_heads(n_, n_.in(value), key_heads)};
    if (!n_.has(past_key) || !n_.has(past_value)) return;
    heads_.key = n_.call("concatenate", {n_.in(past_key), heads_.key}, {{"axis", 2}});
    heads_.value = n_.call("concatenate", {n_.in(past_value), heads_.value}, {{"axis", 2}});
  }

  Value capped(const Value& scores) {
    const Value cap = n_.scalar(scores.type.dtype, softcap_);
    return n_.call("multiply", {n_.call("tanh", {n_.call("divide", {scores, cap})}), cap});
  }

  // Whether all keys of a query may be masked.
  bool may_mask_rows() { return n_.has(mask) || n_.has(lengths) || left_ >= 0 || right_ >= 0; }

  Value masked(Value scores) {
    if (scores.poisoned) return scores;
    const DType type = scores.type.dtype;
    constexpr double never = -std::numeric_limits<double>::infinity();
    if (n_.has(mask)) {
      Value m = padded_mask(scores.type.shape[3]);
      if (m.poisoned) return m;
      scores = is_bool(m.type.dtype) ? n_.call("where", {m, scores, n_.scalar(type, never)})
                                     : n_.call("add", {scores, n_.cast(m, type)});
    }
    relay::Attrs band = {{"mask_value", never}};
    if (left_ >= 0) band["lower"] = -left_;
    if (right_ >= 0 || causal_) band["upper"] = causal_ ? 0 : right_;
    if (band.size() > 1) scores = n_.call("matrix_band", {scores, offset()}, band);
    if (n_.has(lengths))
      scores = n_.call("sequence_mask", {scores, n_.in(lengths)}, {{"mask_value", never}, {"axis", 3}});
    return scores;
  }

  // The mask extended to one column for each key: keys beyond the given mask are masked out. A mask of symbolic size is
  // extended if it is shorter in a run.
  Value padded_mask(const Dim& columns) {
    const Value& m = n_.in(mask);
    if (!n_.check(m.rank() >= 1, DiagnosticId::shape_mismatch, "attn_mask must have at least one axis"))
      return Value::poison();
    const Dim missing = columns - m.type.shape.back();
    if (missing == Dim(0) || provably_lt(missing, 0)) return m;
    relay::AttrList widths(static_cast<size_t>(m.rank()) - 1, relay::AttrList{0, 0});
    widths.push_back(relay::sizes_attribute({Dim(0), max(missing, 0)}));
    const double none = is_bool(m.type.dtype) ? 0 : -std::numeric_limits<double>::infinity();
    return n_.call("nn.pad", {m, n_.scalar(m.type.dtype, none)}, {{"pad_width", widths}});
  }

  // The number of keys before the key of the first query.
  Value offset() {
    if (n_.has(lengths)) {
      Value rows = size_of_axis(n_, heads_.query, 2);
      return n_.call("subtract", {n_.cast(n_.in(lengths), dtype::i64), rows});
    }
    return n_.has(past_key) ? size_of_axis(n_, n_.in(past_key), 2) : integer_scalar(0);
  }

  Node& n_;
  Heads heads_;
  double softcap_ = 0;
  int64_t mode_ = 0, left_ = -1, right_ = -1;
  bool causal_ = false;
  std::optional<DType> precision_;
};

Values convert_attention(Node& n) { return Attention(n).convert(); }

// ---- FlexAttention ------------------------------------------------------------------------------------------------

// The result of a subgraph that changes scores or probabilities; the value itself without the attribute.
Value modified(Node& n, const char* attribute, const Value& x) {
  if (!n.has_attr(attribute) || x.poisoned) return x;
  const auto* graph = n.graph(attribute);
  auto results = graph ? n.context().import_inline(*graph, {x}) : std::nullopt;
  if (!results || results->empty()) return Value::poison();
  const Value& y = results->front();
  n.check(
      y.poisoned || (y.type.shape == x.type.shape && y.type.dtype == x.type.dtype), DiagnosticId::shape_mismatch,
      fmt::format("the result of {} must have the type {}, found {}", attribute, describe(x.type), describe(y.type)));
  return y;
}

Values convert_flex_attention(Node& n) {
  Heads h{n.in(0), n.in(1), n.in(2)};
  for (const Value* v : {&h.query, &h.key, &h.value})
    n.check(v->rank() == 4, DiagnosticId::shape_mismatch,
            fmt::format("{} must have 4 axes, found {}", v->role, v->rank()));
  auto precision = softmax_precision(n);
  if (!check_groups(n, h)) return {};
  const DType type = h.query.type.dtype;
  const DType precise = precision.value_or(type == dtype::f64 ? type : dtype::f32);
  Heads wide{n.cast(h.query, precise), n.cast(h.key, precise), h.value};
  Value scores = modified(n, "score_mod", scores_of(n, wide, given_scale(n)));
  if (scores.poisoned) return {};
  Value probabilities =
      n.has_attr("score_mod") ? guarded_softmax(n, scores) : n.call("nn.softmax", {scores}, {{"axis", -1}});
  probabilities = modified(n, "prob_mod", probabilities);
  return {weighted_values(n, probabilities.poisoned ? probabilities : n.cast(probabilities, type), h)};
}

}  // namespace

void add_attention(Table& table) {
  table.add({
      {"Attention", 23, "Q K V attn_mask past_key past_value nonpad_kv_seqlen", 3, 7, 4, convert_attention},
      {"ai.onnx.preview.FlexAttention", 1, "Q K V", 3, 3, 1, convert_flex_attention},
  });
  table.only_if("Attention", "the size of a head is known at compile time");
  table.only_if("ai.onnx.preview.FlexAttention", "the size of a head is known at compile time");
}

}  // namespace dlcc::frontends::onnx
