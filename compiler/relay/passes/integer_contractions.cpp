// Computes convolutions and matrix products of dequantized tensors on the stored integers. With data (x - zero) * s and
// constant weights w * t, where t is one number or one for each output channel,
//
//   sum((x - zero) * s * w * t) = (sum(x * w) - zero * sum(w)) * (s * t)
//
//   operation                                         becomes
//   conv(dequantize(x, s, zero), dequantize(w, t, 0)) cast(conv(x, w, int32) + c) * (s * t), where c = -zero * sum(w)
//   the same, one input channel a group               conv(x, w * t * s, float32) + c * (s * t)
//   dense(..), matmul(..) likewise                    cast(dense(x, w, int32) + c) * (s * t)
//   quantize(f, u, zero) of such a value              cast(round(f * (1 / u)) + zero), f elementwise operations of it
//
// The first sum is exact. The standard rounds each dequantized number to float32 and each product and sum as well, and
// divides by u. Hence a result may differ by 1 where the number to be rounded is close to a tie.
//
// Signed data is stored with an offset of 128, as instructions multiply unsigned data with signed weights. Without
// vectors, all its readers read it so, and the sum with the zero point of a result is saturated in integers. Where
// padded data has a zero point other than 0, the padding is an operation of its own. The last axis of a kernel over few
// channels gets taps of weight 0, so that their number is a multiple of four (tensor/byte_products.h).
#include <numeric>

#include "relay/attr_structs.h"
#include "relay/passes/block_rewriter.h"
#include "relay/passes/passes.h"
#include "support/integers.h"
#include "tensor/byte_products.h"
#include "tensor/machine.h"

namespace dlcc::relay {

namespace {

using Result = std::optional<Atom>;

// K up to which no sum of products of bytes overflows int32.
constexpr int64_t longest_sum = (int64_t{1} << 31) / (255 * 128) - 1;
constexpr int offset_of_signed = 128;  // from signed data to unsigned data
constexpr int longest_chain = 16;  // elementwise operations between a contraction and the quantization of its result

struct Dequantized {
  Atom stored;
  Constant scale;
  int64_t zero = 0;  // of data
  int64_t axis = 0;  // of the scales, if there are several
};

// The value of a constant, or of an operator applied to constants.
std::optional<Constant> known(const BlockRewriter& r, const Atom& a, int depth = 0) {
  constexpr int deepest = 4;  // operators one after another
  if (const Constant* c = std::get_if<Constant>(&a)) return *c;
  const Operation* definition = r.definition(a);
  const Call* call = definition ? std::get_if<Call>(definition) : nullptr;
  const OperatorRef* o = call ? std::get_if<OperatorRef>(&call->callee) : nullptr;
  if (!o || o->op->variadic || depth == deepest) return std::nullopt;
  std::vector<Constant> args;
  Operands types;
  for (const Atom& arg : call->args) {
    auto value = known(r, arg, depth + 1);
    if (!value) return std::nullopt;
    types.push_back({shape_of(value->shape()), value->dtype()});
    args.push_back(std::move(*value));
  }
  auto results = evaluate(*o->op, call->attrs, types, args);
  return results && results->size() == 1 ? std::optional(std::move(results->front())) : std::nullopt;
}

// The value of all elements of a constant; empty if they differ.
std::optional<double> single(const BlockRewriter& r, const Atom& a) {
  const auto c = known(r, a);
  if (!c || c->count() < 1) return std::nullopt;
  for (int64_t k = 1; k < c->count(); ++k)
    if (c->number_at(k) != c->number_at(0)) return std::nullopt;
  return c->number_at(0);
}

class Rewriter {
 public:
  // `scalar`: for products in general registers (ByteProducts::scalar_pairs).
  explicit Rewriter(bool scalar) : scalar_(scalar) {}

  Result operator()(BlockRewriter& r, const Binding& b) {
    const Call* found = std::get_if<Call>(&b.op);
    const OperatorRef* o = found ? std::get_if<OperatorRef>(&found->callee) : nullptr;
    if (!o) return std::nullopt;
    const Call call = *found;  // emitting operations moves the original
    const std::string& name = o->op->name;
    if (name == "nn.conv1d" || name == "nn.conv2d" || name == "nn.conv3d") return convolution(r, name, call);
    if (name == "nn.dense" || name == "nn.matmul") return product(r, name, call);
    if (name == "qnn.quantize") return quantize(r, call);
    if (Result dequantized; name == "qnn.dequantize" && (dequantized = unsigned_data(r, call))) return dequantized;
    note_elementwise(b, call, name);
    return std::nullopt;
  }

 private:
  // ---- operands

  static std::optional<Dequantized> dequantized(BlockRewriter& r, const Atom& a) {
    const Call* call = r.call_of(a, "qnn.dequantize");
    if (!call || r.tensor(a).dtype != dtype::f32) return std::nullopt;
    const DequantizeAttrs attrs = attributes_of<DequantizeAttrs>(*call);
    const auto scale = known(r, call->args[1]);
    const auto zero = single(r, call->args[2]);
    if (!scale || scale->dtype() != dtype::f32 || !zero || attrs.block_size != 0) return std::nullopt;
    const int64_t rank = static_cast<int64_t>(r.tensor(call->args[0]).shape.size());
    const int64_t axis = attrs.axis < 0 ? attrs.axis + rank : attrs.axis;
    return Dequantized{call->args[0], *scale, static_cast<int64_t>(*zero), axis};
  }

  // Data of bytes with one scale, unsigned.
  static std::optional<Dequantized> data_of(BlockRewriter& r, const Atom& a) {
    auto x = dequantized(r, a);
    if (!x || x->scale.count() != 1) return std::nullopt;
    const DType type = r.tensor(x->stored).dtype;
    if (type == dtype::u8) return x;
    if (type != dtype::i8) return std::nullopt;
    x->stored = moved(r, x->stored);
    x->zero += offset_of_signed;
    return x;
  }

  // Signed bytes plus 128.
  static Atom moved(BlockRewriter& r, const Atom& stored) {
    Atom wide = r.emit("cast", {stored}, {{"dtype", std::string("int32")}});
    Atom sum = r.emit("add", {wide, Constant::of<int32_t>(dtype::i32, {}, {offset_of_signed})});
    return r.emit("cast", {sum}, {{"dtype", std::string("uint8")}});
  }

  // The dequantization of signed data reads the unsigned data, too, so that only one of them is stored. With vectors,
  // memory is not scarce.
  Result unsigned_data(BlockRewriter& r, const Call& call) {
    const DequantizeAttrs attrs = attributes_of<DequantizeAttrs>(call);
    const auto scale = known(r, call.args[1]), zero = known(r, call.args[2]);
    if (!scalar_ || !scale || scale->count() != 1 || !zero || zero->count() != 1 || attrs.block_size != 0) return {};
    if (zero->dtype() != dtype::i8 || r.tensor(call.args[0]).dtype != dtype::i8 || known(r, call.args[0])) return {};
    const auto moved_zero = static_cast<uint8_t>(zero->integer_at(0) + offset_of_signed);
    Constant unsigned_zero = Constant::of<uint8_t>(dtype::u8, zero->shape(), {moved_zero});
    Atom value = r.emit("qnn.dequantize", {moved(r, call.args[0]), call.args[1], unsigned_zero}, call.attrs);
    if (const Var* v = std::get_if<Var>(&call.args[0]); v && distance_.contains((*v)->id))
      distance_[std::get<Var>(value)->id] = distance_[(*v)->id] + 1;
    return value;
  }

  // Constant signed bytes without zero point, with one scale or one for each index of `channels`.
  static std::optional<Dequantized> weights_of(BlockRewriter& r, const Atom& a, int64_t channels) {
    auto w = dequantized(r, a);
    const auto stored = w ? known(r, w->stored) : std::nullopt;
    if (!stored || stored->dtype() != dtype::i8 || w->zero != 0) return std::nullopt;
    w->stored = *stored;
    const bool fits = w->scale.count() == 1 || w->axis == channels;
    return fits ? w : std::nullopt;
  }

  // ---- constants

  // s * t as float32: one number, or a column along the channels of a result with `trailing` axes after them.
  static Constant product_of_scales(const Dequantized& x, const Dequantized& w, int64_t trailing) {
    const Constant &s = x.scale, &t = w.scale;
    std::vector<float> values;
    for (int64_t k = 0; k < t.count(); ++k)
      values.push_back(static_cast<float>(s.number_at(0)) * static_cast<float>(t.number_at(k)));
    if (values.size() == 1) return Constant::of<float>(dtype::f32, {}, values);
    std::vector<int64_t> shape(static_cast<size_t>(trailing) + 1, 1);
    shape[0] = t.count();
    return Constant::of<float>(dtype::f32, shape, values);
  }

  // -zero * the sum of the weights of each index of `axis`.
  static std::vector<int32_t> correction(const Dequantized& x, const Constant& w, size_t axis) {
    const std::vector<int64_t>& shape = w.shape();
    int64_t inner = 1;
    for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
    std::vector<int32_t> sums(static_cast<size_t>(shape[axis]), 0);
    for (int64_t k = 0; k < w.count(); ++k)
      sums[static_cast<size_t>(k / inner % shape[axis])] -= static_cast<int32_t>(x.zero * w.integer_at(k));
    return sums;
  }

  // ---- convolutions

  Result convolution(BlockRewriter& r, const std::string& name, const Call& call) {
    ConvAttrs attrs = attributes_of<ConvAttrs>(call);
    if (attrs.out_dtype) return std::nullopt;
    auto w = weights_of(r, call.args[1], 0);
    if (!w || !r.call_of(call.args[0], "qnn.dequantize")) return std::nullopt;
    Constant weights = std::get<Constant>(w->stored);
    const std::vector<int64_t> shape = weights.shape();
    const int64_t axes = static_cast<int64_t>(shape.size()) - 2, k = weights.count() / std::max<int64_t>(shape[0], 1);
    const bool depthwise = attrs.groups > 1 && shape[1] == 1;
    if (weights.count() == 0 || k > longest_sum || (!depthwise && !has_rows_of_four(attrs, weights.shape())))
      return std::nullopt;
    auto x = data_of(r, call.args[0]);
    if (!x) return std::nullopt;
    std::vector<int64_t> padding = attrs.padding;
    if (std::cmp_equal(padding.size(), axes)) padding.insert(padding.end(), padding.begin(), padding.end());
    if (padding.size() == 1) padding.assign(static_cast<size_t>(2 * axes), padding[0]);
    if (std::cmp_not_equal(padding.size(), 2 * axes)) return std::nullopt;
    const std::vector<int32_t> offsets = correction(*x, weights, 0);
    if (!depthwise && reads_along_taps(attrs, shape)) weights = with_more_taps(weights, padding.back());
    Atom data = padded(r, *x, padding);
    const Constant scales = product_of_scales(*x, *w, axes);
    Attrs integer = call.attrs;
    integer["padding"] = padding;
    integer.erase("kernel_size");
    integer["out_dtype"] = std::string(depthwise ? "float32" : "int32");
    if (!depthwise) {
      Atom sums = r.emit(name, {data, weights}, integer);
      return scaled(r, x->zero != 0 ? r.emit("nn.bias_add", {sums, column(offsets, 0)}, {{"axis", int64_t{1}}}) : sums,
                    scales);
    }
    Constant floats = scaled_weights(weights, scales), bias = scaled_offsets(offsets, scales);
    Atom sums = r.emit(name, {data, floats}, integer);
    return noted(x->zero != 0 ? r.emit("nn.bias_add", {sums, bias}, {{"axis", int64_t{1}}}) : sums);
  }

  // Images of few channels are not stored in channel blocks: adjacent elements are neighbours along the last axis.
  static bool reads_along_taps(const ConvAttrs& attrs, const std::vector<int64_t>& weights) {
    const bool taps = weights.back() > 1 && attrs.dilation.back() == 1;
    return taps && attrs.groups == 1 && weights[1] < tensor::channel_block / 2;
  }

  // Products can be added four at a time: along channels, which a block stores next to each other, or along taps.
  static bool has_rows_of_four(const ConvAttrs& attrs, const std::vector<int64_t>& weights) {
    if (reads_along_taps(attrs, weights)) return true;
    if (attrs.groups == 1) return weights[1] >= tensor::channel_block / 2 && weights[1] % tensor::bytes_of_product == 0;
    return weights[1] % tensor::channel_block == 0 && weights[0] / attrs.groups % tensor::channel_block == 0;
  }

  static Constant column(const std::vector<int32_t>& values, int64_t trailing) {
    std::vector<int64_t> shape(static_cast<size_t>(trailing) + 1, 1);
    shape[0] = static_cast<int64_t>(values.size());
    return Constant::of<int32_t>(dtype::i32, shape, values);
  }

  static double scale_of(const Constant& scales, int64_t channel) {
    return scales.number_at(scales.count() == 1 ? 0 : channel);
  }
  static Constant scaled_weights(const Constant& w, const Constant& scales) {
    const int64_t inner = w.count() / w.shape()[0];
    std::vector<float> values;
    for (int64_t k = 0; k < w.count(); ++k)
      values.push_back(static_cast<float>(static_cast<double>(w.integer_at(k)) * scale_of(scales, k / inner)));
    return Constant::of<float>(dtype::f32, w.shape(), values);
  }
  static Constant scaled_offsets(const std::vector<int32_t>& offsets, const Constant& scales) {
    std::vector<float> values;
    for (size_t k = 0; k < offsets.size(); ++k)
      values.push_back(static_cast<float>(offsets[k] * scale_of(scales, static_cast<int64_t>(k))));
    return Constant::of<float>(dtype::f32, {static_cast<int64_t>(offsets.size())}, values);
  }

  // The weights with taps of 0 appended along the last axis, up to a multiple of four; `padding` grows by their number.
  static Constant with_more_taps(const Constant& w, int64_t& padding) {
    std::vector<int64_t> shape = w.shape();
    const int64_t taps = shape.back(), all = ceil_div(taps, tensor::bytes_of_product) * tensor::bytes_of_product;
    if (taps < 2 || all == taps) return w;
    std::vector<int8_t> values;
    for (int64_t k = 0; k < w.count() / taps * all; ++k)
      values.push_back(k % all < taps ? static_cast<int8_t>(w.integer_at(k / all * taps + k % all)) : int8_t{0});
    padding += all - taps;
    shape.back() = all;
    return Constant::of<int8_t>(dtype::i8, shape, values);
  }

  // The stored data with its padding, which is the zero point. A padding of zeros stays the convolution's.
  static Atom padded(BlockRewriter& r, const Dequantized& x, std::vector<int64_t>& padding) {
    if (x.zero == 0 || std::ranges::all_of(padding, [](int64_t p) { return p == 0; })) return x.stored;
    const size_t axes = padding.size() / 2;
    AttrList widths = {AttrList{0, 0}, AttrList{0, 0}};
    for (size_t d = 0; d < axes; ++d) widths.push_back(AttrList{padding[d], padding[axes + d]});
    padding.assign(padding.size(), 0);
    Constant zero = Constant::of<uint8_t>(dtype::u8, {}, {static_cast<uint8_t>(x.zero)});
    return r.emit("nn.pad", {x.stored, zero}, {{"pad_width", widths}});
  }

  // ---- matrix products

  Result product(BlockRewriter& r, const std::string& name, const Call& call) {
    const MatmulAttrs attrs = attributes_of<MatmulAttrs>(call);
    const bool transposed = name == "nn.dense" || attrs.transpose_b;
    const size_t n_axis = transposed ? 0 : 1;
    if (attrs.out_dtype || attrs.transpose_a || r.tensor(call.args[0]).shape.empty()) return std::nullopt;
    auto w = weights_of(r, call.args[1], static_cast<int64_t>(n_axis));
    if (!w || !r.call_of(call.args[0], "qnn.dequantize")) return std::nullopt;
    const Constant weights = std::get<Constant>(w->stored);
    if (weights.shape().size() != 2 || weights.count() == 0) return std::nullopt;
    const int64_t k = weights.shape()[1 - n_axis];
    if (k > longest_sum || k % tensor::bytes_of_product != 0) return std::nullopt;
    auto x = data_of(r, call.args[0]);
    if (!x) return std::nullopt;
    Attrs integer = call.attrs;
    integer["out_dtype"] = std::string("int32");
    Atom sums = r.emit(name, {x->stored, weights}, integer);
    if (x->zero != 0) sums = r.emit("add", {sums, column(correction(*x, weights, n_axis), 0)});
    return scaled(r, sums, product_of_scales(*x, *w, 0));
  }

  // ---- results

  Atom scaled(BlockRewriter& r, const Atom& sums, const Constant& scales) {
    Atom numbers = r.emit("cast", {sums}, {{"dtype", std::string("float32")}});
    Atom value = noted(r.emit("multiply", {numbers, scales}));
    scaled_[std::get<Var>(value)->id] = {numbers, scales};
    return value;
  }

  Atom noted(Atom value) {
    distance_[std::get<Var>(value)->id] = 0;
    return value;
  }

  // value * factor, where a scale and offsets of the value absorb the factor.
  Atom rescaled(BlockRewriter& r, const Atom& value, double factor, int depth = 0) const {
    const Constant number = Constant::of<float>(dtype::f32, {}, {static_cast<float>(factor)});
    const Var* v = std::get_if<Var>(&value);
    if (v && r.used_once(value) && depth < longest_chain) {
      if (auto it = scaled_.find((*v)->id); it != scaled_.end()) {
        std::vector<float> scales;
        for (int64_t k = 0; k < it->second.scales.count(); ++k)
          scales.push_back(static_cast<float>(it->second.scales.number_at(k) * factor));
        return r.emit("multiply",
                      {it->second.numbers, Constant::of<float>(dtype::f32, it->second.scales.shape(), scales)});
      }
      for (const char* name : {"nn.bias_add", "add"})
        if (const Call* found = r.call_of(value, name); found && is_known(r, found->args[1])) {
          const Call call = *found;  // emitting operations moves the original
          Atom first = rescaled(r, call.args[0], factor, depth + 1);
          return r.emit(name, {first, r.emit("multiply", {call.args[1], number})}, call.attrs);
        }
    }
    return r.emit("multiply", {value, number});
  }

  static bool is_known(const BlockRewriter& r, const Atom& a) { return known(r, a).has_value() || r.is_constant(a); }

  // Elementwise operations of a contraction's value become its epilogue.
  void note_elementwise(const Binding& b, const Call& call, const std::string& name) {
    static const std::set<std::string> names = {"add",  "subtract", "multiply", "nn.bias_add",   "nn.relu",
                                                "clip", "maximum",  "minimum",  "qnn.dequantize"};
    if (!names.contains(name)) return;
    int least = longest_chain;
    for (const Atom& a : call.args)
      if (const Var* v = std::get_if<Var>(&a); v && distance_.contains((*v)->id))
        least = std::min(least, distance_[(*v)->id] + 1);
    if (least < longest_chain) distance_[b.var->id] = least;
  }

  // The quantization of such a value multiplies by the reciprocal of the scale: a division takes as long as the product
  // over 64 input channels.
  Result quantize(BlockRewriter& r, const Call& call) {
    const QuantizeAttrs attrs = attributes_of<QuantizeAttrs>(call);
    const Var* v = std::get_if<Var>(&call.args[0]);
    const auto scale = single(r, call.args[1]), zero = single(r, call.args[2]);
    const DType type = r.tensor(call.args[2]).dtype;
    if (!v || !distance_.contains((*v)->id) || !scale || !zero || attrs.precision || attrs.block_size != 0)
      return std::nullopt;
    const bool is_f32 = r.tensor(call.args[0]).dtype == dtype::f32 && r.tensor(call.args[1]).dtype == dtype::f32;
    if (!is_f32 || (type != dtype::u8 && type != dtype::i8)) return std::nullopt;
    Atom value = r.emit("round", {rescaled(r, call.args[0], 1 / *scale)});
    if (*zero != 0 && scalar_) return noted(saturated_sum(r, value, static_cast<int32_t>(*zero), type));
    if (*zero != 0) value = r.emit("add", {value, Constant::of<float>(dtype::f32, {}, {static_cast<float>(*zero)})});
    return noted(r.emit("cast", {value}, {{"dtype", std::string(dlcc::name(type))}}));
  }

  // The sum of an integral number and a zero point as a byte, in integers: without vectors, this is faster than the sum
  // of floats and differs for NaN only.
  static Atom saturated_sum(BlockRewriter& r, const Atom& number, int32_t zero, DType type) {
    auto constant = [](int32_t value) { return Constant::of<int32_t>(dtype::i32, {}, {value}); };
    const int32_t low = type == dtype::i8 ? INT8_MIN : 0, high = type == dtype::i8 ? INT8_MAX : UINT8_MAX;
    Atom value = r.emit("cast", {number}, {{"dtype", std::string("int32")}});
    value = r.emit("minimum", {value, constant(high - zero)});
    value = r.emit("maximum", {value, constant(low - zero)});
    return r.emit("cast", {r.emit("add", {value, constant(zero)})}, {{"dtype", std::string(dlcc::name(type))}});
  }

  struct Scaled {
    Atom numbers;
    Constant scales;
  };
  bool scalar_;
  std::map<int, Scaled> scaled_;  // numbers * scales, by variable
  std::map<int, int> distance_;   // elementwise operations since a rewritten contraction, by variable
};

}  // namespace

Module integer_contractions(Module module, PassContext& context) {
  if (context.machine.byte_products == tensor::ByteProducts::none) return module;
  EffectAnalysis effects(module);
  for (auto& [name, f] : module.functions) {
    Rewriter rewriter(context.machine.byte_products == tensor::ByteProducts::scalar_pairs);
    BlockRewriter(module, effects, [&](BlockRewriter& r, const Binding& b) { return rewriter(r, b); }).run(f.body);
  }
  return module;
}

}  // namespace dlcc::relay
