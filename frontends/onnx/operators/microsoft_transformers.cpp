// Normalizations of transformers in the domain com.microsoft.
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/quantization.h"
#include "frontends/onnx/operators/statistics.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// ---- normalization ------------------------------------------------------------------------------------------------

// The mean and the reciprocal spread, which training reads, are not computed.
void reject_statistics(Node& n, int first, int last) {
  for (int k = first; k <= last; ++k)
    n.check(!n.wants(k), DiagnosticId::unsupported_attribute,
            "the outputs for training, mean and inv_std_var, are not supported", "export the model for inference");
}

// 16-bit floats as float32: sums are rounded after the normalization, not before it.
Value wide(Node& n, const Value& x) { return bits(x.type.dtype) == 16 ? n.cast(x, dtype::f32) : x; }

// The sum of input, skip and the optional bias.
Value sum_with_skip(Node& n, int bias) {
  Value sum = add(n, wide(n, n.in(0)), wide(n, n.in(1)));
  return n.has(bias) ? add(n, sum, wide(n, n.in(bias))) : sum;
}

Values convert_skip_layer_normalization(Node& n) {
  reject_statistics(n, 1, 2);
  const DType type = n.in(0).type.dtype;
  Value sum = sum_with_skip(n, 4);
  Value y = standardize(n, sum, {-1}, n.in(2), n.optional_in(3), n.number("epsilon", 1e-12f));
  return {n.cast(y, type), Value::poison(), Value::poison(), n.cast(sum, type)};
}

Values convert_skip_simplified_layer_normalization(Node& n) {
  reject_statistics(n, 1, 2);
  const DType type = n.in(0).type.dtype;
  Value sum = sum_with_skip(n, 3);
  Value y = standardize(n, sum, {-1}, n.in(2), std::nullopt, n.number("epsilon", 1e-5f), false);
  return {n.cast(y, type), Value::poison(), Value::poison(), n.cast(sum, type)};
}

// The tables of EmbedLayerNormalization and the parameters of its normalization.
struct Embedding {
  Value words, positions;
  std::optional<Value> segments;
  Value gamma, beta;
  std::optional<Value> position_ids = {};
};

// The sum of word, position and segment embeddings, normalized; the number of words that the mask keeps; and the sum.
// The inputs 0, 1 and 7 are the words, the segments and the mask.
Values embed(Node& n, const Embedding& e) {
  enum { ids, segments, mask = 7 };
  const Value& id = n.in(ids);
  if (!n.check(id.rank() == 2, DiagnosticId::shape_mismatch, "input_ids must have two axes")) return {};
  auto rows = [&](const Value& table, const Value& index) {
    return wide(n, n.call("take", {table, index}, {{"axis", 0}, {"mode", "strict"}}));
  };
  const DType type = e.words.type.dtype;
  Value sum = rows(e.words, id);
  if (e.position_ids) {
    sum = add(n, sum, rows(e.positions, *e.position_ids));
  } else {  // the first rows of the table
    Value first = n.call("strided_slice", {e.positions},
                         {{"begin", relay::AttrList{0}},
                          {"end", relay::sizes_attribute({id.type.shape[1]})},
                          {"axes", relay::AttrList{0}}});
    sum = add(n, sum, wide(n, first));
  }
  if (n.has(segments) && e.segments) sum = add(n, sum, rows(*e.segments, n.in(segments)));
  Value y = standardize(n, sum, {-1}, e.gamma, e.beta, n.number("epsilon", 1e-12f));
  Value kept = n.has(mask)
                   ? n.call("sum", {n.cast(n.in(mask), dtype::i32)}, {{"axis", relay::AttrList{1}}})
                   : n.call("full", {n.scalar(dtype::i32, 0)}, {{"shape", relay::sizes_attribute({id.type.shape[0]})}});
  return {n.cast(y, type), kept, n.cast(sum, type)};
}

Values convert_embed_layer_normalization(Node& n) {
  enum { words = 2, positions, segment_table, gamma, beta, position_ids = 8 };
  for (int k : {words, positions, gamma, beta})
    n.check(n.has(k), DiagnosticId::wrong_arity, "word_embedding, position_embedding, gamma and beta must be given");
  if (n.failed()) return {};
  n.check(n.integer("mask_index_type", 1) <= 1, DiagnosticId::unsupported_attribute,
          "mask_index_type is not supported");
  return embed(n, {n.in(words), n.in(positions), n.optional_in(segment_table), n.in(gamma), n.in(beta),
                   n.optional_in(position_ids)});
}

// The same with quantized tables and parameters, whose scales and then zero points follow in their order.
Values convert_quantized_embed_layer_normalization(Node& n) {
  enum { words = 2, segment_table = 4, mask = 7, scales = 8, zero_points = 13 };
  auto real = [&](int k) { return dequantized(n, n.in(words + k), n.in(scales + k), n.in(zero_points + k), 0); };
  const bool has_segments = n.has(segment_table);
  n.check(!has_segments || (n.has(scales + 2) && n.has(zero_points + 2)), DiagnosticId::wrong_arity,
          "the segment embedding needs a scale and a zero point");
  if (n.failed()) return {};
  return embed(n, {real(0), real(1), has_segments ? std::optional(real(2)) : std::nullopt, real(3), real(4)});
}

}  // namespace

void add_microsoft_transformers(Table& table) {
  table.add({
      {"com.microsoft.SkipLayerNormalization", 1, "input skip gamma beta bias", 3, 5, 4,
       convert_skip_layer_normalization, true},
      {"com.microsoft.SkipSimplifiedLayerNormalization", 1, "input skip gamma bias", 3, 4, 4,
       convert_skip_simplified_layer_normalization, true},
      {"com.microsoft.EmbedLayerNormalization", 1,
       "input_ids segment_ids word_embedding position_embedding segment_embedding gamma beta mask position_ids", 1, 9,
       3, convert_embed_layer_normalization},
      {"com.microsoft.QEmbedLayerNormalization", 1,
       "input_ids segment_ids? word_embedding_quant position_embedding_quant segment_embedding? gamma_quant beta_quant "
       "mask? word_embedding_scale position_embedding_scale segment_embedding_scale? gamma_scale beta_scale "
       "word_embedding_zero_point position_embedding_zero_point segment_embedding_zero_point? gamma_zero_point "
       "beta_zero_point",
       18, 18, 2, convert_quantized_embed_layer_normalization},
  });
  table.only_if("com.microsoft.SkipLayerNormalization", "the outputs for training are unused");
  table.only_if("com.microsoft.SkipSimplifiedLayerNormalization", "the outputs for training are unused");
  table.only_if("com.microsoft.EmbedLayerNormalization", "mask_index_type is 0 or 1");
}

}  // namespace dlcc::frontends::onnx
