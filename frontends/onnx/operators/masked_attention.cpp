#include "frontends/onnx/operators/masked_attention.h"

#include <cmath>
#include <limits>

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/loop_function.h"

namespace dlcc::frontends::onnx {

// The scores, with -infinity for keys after that of a query. The last query reads all keys; this needs no operation of
// its own if each key that is not of the past has a query.
static Value causal(Node& n, const Value& scores, const std::optional<Value>& past) {
  const Value before = past ? *past : integer_scalar(0);
  const Value band =
      n.call("matrix_band", {scores, before}, {{"upper", 0}, {"mask_value", -std::numeric_limits<double>::infinity()}});
  const Dim queries = scores.type.shape[2], keys = scores.type.shape[3];
  const relay::KnownValue known = n.context().builder.known(before);
  if (known && known->elements[0] && *known->elements[0] == keys - queries) return band;
  const Value rows = n.call("iota", {}, {{"shape", relay::sizes_attribute({queries, 1})}, {"dtype", "int64"}});
  const Value last = subtract(n, size_of_axis(n, scores, 2), integer_scalar(1));
  return n.call("where", {n.call("equal", {rows, last}), scores, band});
}

Value masked_scores(Node& n, const AttentionHeads& heads, double scale, const AttentionMask& mask) {
  Value scores = n.call("nn.batch_matmul", {heads.query, heads.key}, {{"transpose_b", true}});
  if (scores.poisoned) return scores;
  scores = multiply(n, scores, n.scalar(scores.type.dtype, scale));
  if (mask.bias) scores = add(n, scores, *mask.bias);
  if (mask.keep) scores = n.call("where", {*mask.keep, scores, plus(n, scores, mask.hidden)});
  if (scores.poisoned) return scores;  // bias or mask does not fit
  return mask.causal ? causal(n, scores, mask.past) : scores;
}

Value attended(Node& n, const Value& scores, const Value& value) {
  if (scores.poisoned) return scores;
  return n.call("nn.batch_matmul", {n.call("nn.softmax", {scores}, {{"axis", -1}}), value});
}

Value masked_attention(Node& n, const AttentionHeads& heads, double scale, const AttentionMask& mask) {
  return attended(n, masked_scores(n, heads, scale, mask), heads.value);
}

double attention_scale(Node& n, const Value& query) {
  const double given = n.number("scale", 0);
  auto size = query.poisoned ? std::nullopt : query.type.shape.back().constant();
  n.check(size || n.failed(), DiagnosticId::dynamic_shape, "the size of a head must be known");
  return given != 0 || !size ? given : 1 / std::sqrt(static_cast<double>(*size));
}

AttentionMask mask_attributes(Node& n) {
  AttentionMask mask;
  mask.hidden = n.number("mask_filter_value", -10000.0f);
  mask.causal = n.flag("unidirectional", false);
  return mask;
}

// [batch] as [batch, 1, 1, 1].
static Value per_sequence(Node& n, const Value& list) {
  return n.call("expand_dims", {n.cast(list, dtype::i64)}, {{"axis", 1}, {"num_newaxis", 3}});
}

// Lengths, or ends and beginnings, as bools [batch, 1, 1, keys]. The list is taken to have two numbers for each
// sequence if its size is proved to be twice the batch, else one; a run checks that.
static std::optional<Value> keys_in_range(Node& n, int input, const AttentionHeads& heads) {
  const Dim batch = heads.query.type.shape[0], keys = heads.key.type.shape[2];
  const bool with_beginnings = n.in(input).type.shape[0] == batch * Dim(2);
  if (!n.check(with_beginnings || n.require_shape(input, {batch}), DiagnosticId::unsupported_attribute,
               fmt::format("{} must have one number for each of the {} sequences, or two, found {}", n.in(input).role,
                           batch.str(), n.in(input).type.shape[0].str())))
    return std::nullopt;
  const Value& list = n.in(input);
  const Value at = n.call("iota", {}, {{"shape", relay::sizes_attribute({keys})}, {"dtype", "int64"}, {"axis", 0}});
  auto part = [&](const Dim& begin, const Dim& end) {
    return per_sequence(n, n.call("strided_slice", {list},
                                  {{"begin", relay::sizes_attribute({begin})},
                                   {"end", relay::sizes_attribute({end})},
                                   {"axes", relay::AttrList{0}}}));
  };
  Value keep = n.call("less", {at, part(0, batch)});
  if (with_beginnings) keep = n.call("logical_and", {keep, n.call("greater_equal", {at, part(batch, batch * Dim(2))})});
  return keep;
}

std::optional<Value> kept_keys(Node& n, int input, const AttentionHeads& heads) {
  if (!n.has(input) || heads.poisoned()) return std::nullopt;
  const Value& m = n.in(input);
  if (m.rank() == 1) return keys_in_range(n, input, heads);
  if (!n.check(m.rank() == 2 || m.rank() == 3, DiagnosticId::unsupported_attribute,
               fmt::format("{} must have the axes batch and keys, or batch, queries and keys", m.role)))
    return std::nullopt;
  Value keep = is_bool(m.type.dtype) ? m : n.call("greater", {m, n.scalar(m.type.dtype, 0)});
  return n.call("expand_dims", {keep}, {{"axis", 1}, {"num_newaxis", 4 - m.rank()}});
}

void reject_inputs(Node& n, std::initializer_list<int> inputs) {
  for (int k : inputs)
    n.check(!n.has(k), DiagnosticId::unsupported_attribute,
            fmt::format("the input {} is not supported", n.has(k) ? n.in(k).role : ""));
}

}  // namespace dlcc::frontends::onnx
