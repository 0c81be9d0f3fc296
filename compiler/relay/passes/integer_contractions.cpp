// Computes convolutions and matrix products of dequantized tensors on the stored integers. With data (x - zero) * s and
// constant weights w * t, where w is bytes minus a zero point and t one number or one for each output channel,
//
//   sum((x - zero) * s * w * t) = (sum(x * w) - zero * sum(w)) * (s * t)
//
//   operation                                         becomes
//   conv(cast(x, int32) - zero, w)                    conv(x, w, int32) + c, where c = -zero * sum(w)
//   conv(dequantize(x, s, zero), dequantize(w, t))    cast(conv(x, w, int32) + c) * (s * t)
//   dense(..), matmul(..) likewise                    cast(dense(x, w, int32) + c) * (s * t)
//   batch_matmul of two dequantized tensors           cast(batch_matmul(x, w, int32) + sums) * (s * t)
//   quantize(f, u, zero) of such a value              cast(round(f * (1 / u)) + zero), f elementwise operations of it
//
// The sums of products are exact, in int32, or in float32 for some depthwise convolutions. The standard rounds each
// dequantized number to float32 and each product and sum as well, and divides by u. Hence a result may differ by 1
// where the number to be rounded is close to a tie.
//
// byte_contractions.h describes the operations on bytes. Without vectors, all readers of data of the other type read it
// with an offset, and the sum with the zero point of a result is saturated in integers.
#include <functional>

#include "relay/attr_structs.h"
#include "relay/passes/block_rewriter.h"
#include "relay/passes/byte_contractions.h"
#include "relay/passes/passes.h"
#include "tensor/byte_products.h"

namespace dlcc::relay {

namespace {

using Result = std::optional<Atom>;

constexpr int longest_chain = 16;  // elementwise operations between a contraction and the quantization of its result

struct Dequantized {
  Atom stored;
  Constant scale;
  int64_t zero = 0;  // of data
  int64_t axis = 0;  // of the scales, if there are several

  ByteData bytes() const { return {stored, Constant::of<int32_t>(dtype::i32, {}, {static_cast<int32_t>(zero)})}; }
};

class Rewriter {
 public:
  explicit Rewriter(tensor::ByteProducts products)
      : products_(products),
        scalar_(tensor::is_scalar(products)),
        data_type_(tensor::data_of_byte_products(products)) {}

  Result operator()(BlockRewriter& r, const Binding& b) {
    const Call* found = std::get_if<Call>(&b.op);
    const OperatorRef* o = found ? std::get_if<OperatorRef>(&found->callee) : nullptr;
    if (!o) return std::nullopt;
    const Call call = *found;  // emitting operations moves the original
    const std::string& name = o->op->name;
    static const std::set<std::string> contractions = {"nn.conv1d", "nn.conv2d", "nn.conv3d",
                                                       "nn.dense",  "nn.matmul", "nn.batch_matmul"};
    if (contractions.contains(name)) return contraction(r, name, call);
    if (name == "qnn.quantize") return quantize(r, call);
    if (Result dequantized; name == "qnn.dequantize" && (dequantized = data_with_offset(r, call))) return dequantized;
    note_elementwise(r, b, call, name);
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

  // Data of bytes with one scale, of the machine's type of data. Depthwise convolutions read unsigned data as it was
  // stored: its zero point is often 0.
  std::optional<Dequantized> data_of(BlockRewriter& r, const Atom& a, bool is_depthwise = false) const {
    auto x = dequantized(r, a);
    if (!x || x->scale.count() != 1) return std::nullopt;
    const DType type = r.tensor(x->stored).dtype;
    if (!is_byte(type)) return std::nullopt;
    if (const auto original = unsigned_data_.find(id_of(x->stored)); is_depthwise && original != unsigned_data_.end()) {
      x->stored = original->second;
      x->zero += offset_between(type, dtype::u8);
      return x;
    }
    const DType to = is_depthwise && type == dtype::u8 ? type : data_type_;
    x->stored = with_offset(r, x->stored, to);
    x->zero += offset_between(type, to);
    return x;
  }

  // The dequantization of data of the other type reads the data with the offset, too, so that only one of them is
  // stored. With vectors, memory is not scarce.
  Result data_with_offset(BlockRewriter& r, const Call& call) {
    const DequantizeAttrs attrs = attributes_of<DequantizeAttrs>(call);
    const auto scale = known(r, call.args[1]), zero = known(r, call.args[2]);
    if (!scalar_ || !scale || scale->count() != 1 || !zero || zero->count() != 1 || attrs.block_size != 0) return {};
    const DType other = data_type_ == dtype::u8 ? dtype::i8 : dtype::u8;
    if (zero->dtype() != other || r.tensor(call.args[0]).dtype != other || is_known(r, call.args[0])) return {};
    const int64_t moved = zero->integer_at(0) + offset_between(other, data_type_);
    const Constant moved_zero = other == dtype::i8
                                    ? Constant::of<uint8_t>(dtype::u8, zero->shape(), {static_cast<uint8_t>(moved)})
                                    : Constant::of<int8_t>(dtype::i8, zero->shape(), {static_cast<int8_t>(moved)});
    const Atom data = call.args[0], stored = with_offset(r, data, data_type_);
    if (other == dtype::u8) unsigned_data_.emplace(id_of(stored), data);
    Atom value = r.emit("qnn.dequantize", {stored, call.args[1], moved_zero}, call.attrs);
    if (const Var* v = std::get_if<Var>(&call.args[0]); v && distance_.contains((*v)->id))
      distance_[std::get<Var>(value)->id] = distance_[(*v)->id] + 1;
    return value;
  }

  struct Weights {
    SignedBytes integers;  // minus the zero point
    Constant scale;
  };

  // Constant bytes with one scale, or with one for each index of `channels`.
  static std::optional<Weights> weights_of(BlockRewriter& r, const Atom& a, int64_t channels) {
    const auto w = dequantized(r, a);
    const auto stored = w ? known(r, w->stored) : std::nullopt;
    if (!stored || !is_byte(stored->dtype())) return std::nullopt;
    auto bytes = signed_bytes(*stored, w->zero);
    const bool fits = w->scale.count() == 1 || w->axis == channels;
    return fits && bytes ? std::optional(Weights{std::move(*bytes), w->scale}) : std::nullopt;
  }

  // ---- constants

  static float product_of_scales(const Constant& s, const Constant& t, int64_t channel) {
    return static_cast<float>(s.number_at(0)) * static_cast<float>(t.number_at(t.count() == 1 ? 0 : channel));
  }

  // s * t as float32, a column along the channels of a result with `trailing` axes after them.
  static Constant column_of_scales(const Constant& s, const Constant& t, int64_t channels, int64_t trailing) {
    std::vector<float> values;
    for (int64_t k = 0; k < channels; ++k) values.push_back(product_of_scales(s, t, k));
    std::vector<int64_t> shape(static_cast<size_t>(trailing) + 1, 1);
    shape[0] = channels;
    return Constant::of<float>(dtype::f32, shape, values);
  }

  // The same, but one number if there is one scale.
  static Constant scales_of(const Constant& s, const Constant& t, int64_t trailing) {
    if (t.count() == 1) return Constant::of<float>(dtype::f32, {}, {product_of_scales(s, t, 0)});
    return column_of_scales(s, t, t.count(), trailing);
  }

  // ---- contractions

  Result contraction(BlockRewriter& r, const std::string& name, const Call& call) {
    if (Result sums = contraction_of_integers(r, name, call, products_)) return noted(*sums);
    if (!r.call_of(call.args[0], "qnn.dequantize")) return std::nullopt;
    const bool by_columns = name == "nn.matmul" && !attributes_of<MatmulAttrs>(call).transpose_b;
    const auto w = weights_of(r, call.args[1], by_columns ? 1 : 0);
    if (!w) return name.starts_with("nn.conv") ? std::nullopt : product_of_activations(r, name, call);
    if (const auto p = byte_product(r, name, call, w->integers)) {
      const auto x = data_of(r, call.args[0]);
      if (!x) return std::nullopt;
      return scaled(r, integer_sums(r, *p, x->bytes(), w->integers), scales_of(x->scale, w->scale, 0));
    }
    const auto c = byte_convolution(name, call, w->integers, products_);
    const auto x = c ? data_of(r, call.args[0], c->is_depthwise()) : std::nullopt;
    if (!x) return std::nullopt;
    const Atom sums = exact_sums(r, *c, x->bytes(), w->integers, c->sums);
    const int64_t trailing = static_cast<int64_t>(c->weights.size()) - 2;
    if (!c->is_depthwise()) return scaled(r, sums, scales_of(x->scale, w->scale, trailing));
    // Also one scale is a column: a number would be part of the kernel, which equal convolutions then do not share.
    return scaled(r, sums, column_of_scales(x->scale, w->scale, c->weights[0], trailing));
  }

  Result product_of_activations(BlockRewriter& r, const std::string& name, const Call& call) {
    const auto w = dequantized(r, call.args[1]);
    const DType type = w ? r.tensor(w->stored).dtype : dtype::f32;
    if (!is_byte(type) || w->scale.count() != 1 || is_known(r, w->stored)) return std::nullopt;
    const auto x = data_of(r, call.args[0]);
    const Result sums = x ? product_of_data(r, name, call, x->bytes(), w->bytes()) : std::nullopt;
    if (!sums) return std::nullopt;
    return scaled(r, *sums, scales_of(x->scale, w->scale, 0));
  }

  // ---- results

  // Emits a value times a factor.
  using EmitScaled = std::function<Atom(BlockRewriter&, double factor)>;

  static Constant times(const Constant& scales, double factor) {
    std::vector<float> values;
    for (int64_t k = 0; k < scales.count(); ++k) values.push_back(static_cast<float>(scales.number_at(k) * factor));
    return Constant::of<float>(dtype::f32, scales.shape(), values);
  }

  Atom scaled(BlockRewriter& r, const Atom& sums, const Constant& scales) {
    const bool are_floats = r.tensor(sums).dtype == dtype::f32;
    const Atom numbers = are_floats ? sums : r.emit("cast", {sums}, {{"dtype", std::string("float32")}});
    EmitScaled emit = [numbers, scales](BlockRewriter& rewriter, double factor) {
      return rewriter.emit("multiply", {numbers, times(scales, factor)});
    };
    Atom value = noted(emit(r, 1));
    scaled_[std::get<Var>(value)->id] = std::move(emit);
    return value;
  }

  Atom noted(Atom value) {
    distance_[std::get<Var>(value)->id] = 0;
    return value;
  }

  // value * factor, where scales, weights and offsets of the value absorb the factor.
  Atom rescaled(BlockRewriter& r, const Atom& value, double factor, int depth = 0) const {
    if (factor == 1) return value;
    const Constant number = Constant::of<float>(dtype::f32, {}, {static_cast<float>(factor)});
    const Var* v = std::get_if<Var>(&value);
    if (v && r.used_once(value) && depth < longest_chain) {
      if (auto it = scaled_.find((*v)->id); it != scaled_.end()) return it->second(r, factor);
      for (const char* name : {"nn.bias_add", "add"})
        if (const Call* found = r.call_of(value, name); found && is_fixed(r, found->args[1])) {
          const Call call = *found;  // emitting operations moves the original
          Atom first = rescaled(r, call.args[0], factor, depth + 1);
          return r.emit(name, {first, r.emit("multiply", {call.args[1], number})}, call.attrs);
        }
    }
    return r.emit("multiply", {value, number});
  }

  static int id_of(const Atom& a) {
    const Var* v = std::get_if<Var>(&a);
    return v ? (*v)->id : -1;
  }

  static bool is_fixed(const BlockRewriter& r, const Atom& a) { return is_known(r, a) || r.is_constant(a); }

  // Elementwise operations of a contraction's value become its epilogue.
  void note_elementwise(const BlockRewriter& r, const Binding& b, const Call& call, const std::string& name) {
    static const std::set<std::string> names = {"add",  "subtract", "multiply", "nn.bias_add",   "nn.relu",
                                                "clip", "maximum",  "minimum",  "qnn.dequantize"};
    const bool is_float_of_sum = name == "cast" && r.tensor(call.args[0]).dtype == dtype::i32;
    if (!names.contains(name) && !is_float_of_sum) return;
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
    if (!is_f32 || !is_byte(type)) return std::nullopt;
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

  tensor::ByteProducts products_;
  bool scalar_;                        // accumulators in general registers
  DType data_type_;                    // of the products
  std::map<int, EmitScaled> scaled_;   // by the variable of the value
  std::map<int, Atom> unsigned_data_;  // by the variable of the same data with the offset, signed
  std::map<int, int> distance_;        // elementwise operations since a rewritten contraction, by variable
};

}  // namespace

Module integer_contractions(Module module, PassContext& context) {
  if (context.machine.byte_products == tensor::ByteProducts::none) return module;
  EffectAnalysis effects(module);
  for (auto& [name, f] : module.functions) {
    Rewriter rewriter(context.machine.byte_products);
    BlockRewriter(module, effects, [&](BlockRewriter& r, const Binding& b) { return rewriter(r, b); }).run(f.body);
  }
  return module;
}

}  // namespace dlcc::relay
