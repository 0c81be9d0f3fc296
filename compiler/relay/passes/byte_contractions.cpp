// The conditions under which convolutions and matrix products are computed on bytes, and the operations that do it.
#include "relay/passes/byte_contractions.h"

#include <algorithm>
#include <utility>

#include "relay/op_support/type_checks.h"
#include "support/integers.h"
#include "tensor/byte_products.h"
#include "tensor/layout.h"

namespace dlcc::relay {

namespace {

// K up to which no sum of products overflows int32: of bytes, whose absolute value is up to 255, and signed bytes or
// weights with an offset, whose absolute value is up to 255.
int64_t longest_sum(const SignedBytes& w) {
  const int64_t largest_weight = w.offset == 0 ? 128 : UINT8_MAX;
  return (int64_t{1} << 31) / (UINT8_MAX * largest_weight) - 1;
}

const Attrs to_int32 = {{"dtype", std::string("int32")}};

int64_t product(const std::vector<int64_t>& shape, size_t first) {
  int64_t count = 1;
  for (size_t d = first; d < shape.size(); ++d) count *= shape[d];
  return count;
}

// Images of few channels are not stored in channel blocks: adjacent elements are neighbours along the last axis.
bool reads_along_taps(const ConvAttrs& attrs, const std::vector<int64_t>& weights) {
  const bool taps = weights.back() > 1 && attrs.dilation.back() == 1;
  return taps && attrs.groups == 1 && weights[1] < tensor::channel_block / 2;
}

// Products can be added four at a time: along channels, which a block stores next to each other, or along taps.
bool has_rows_of_four(const ConvAttrs& attrs, const std::vector<int64_t>& weights) {
  if (reads_along_taps(attrs, weights)) return true;
  if (attrs.groups == 1)
    return weights[1] >= tensor::channel_block / 2 && weights[1] % tensor::least_bytes_of_product == 0;
  return weights[1] % tensor::channel_block == 0 && weights[0] / attrs.groups % tensor::channel_block == 0;
}

// The weights with taps of 0 appended along the last axis, up to a multiple of four; `padding` grows by their number.
Constant with_more_taps(const Constant& w, int64_t& padding) {
  std::vector<int64_t> shape = w.shape();
  const int64_t taps = shape.back(),
                all = ceil_div(taps, tensor::least_bytes_of_product) * tensor::least_bytes_of_product;
  if (taps < 2 || all == taps) return w;
  std::vector<int8_t> values;
  for (int64_t k = 0; k < w.count() / taps * all; ++k)
    values.push_back(k % all < taps ? static_cast<int8_t>(w.integer_at(k / all * taps + k % all)) : int8_t{0});
  padding += all - taps;
  shape.back() = all;
  return Constant::of<int8_t>(dtype::i8, shape, values);
}

// The number that the convolution itself pads the data with; empty if the padding is an operation of its own.
std::optional<int64_t> own_padding(const ByteConvolution& c, const ByteData& x) {
  const Constant* zero = std::get_if<Constant>(&x.zero);
  const bool is_zero = x.is_centred() || std::ranges::all_of(c.padding, [](int64_t p) { return p == 0; });
  return is_zero ? std::optional<int64_t>(0) : c.pads_rows && zero ? std::optional(zero->integer_at(0)) : std::nullopt;
}

// The stored data with its padding, which is the zero point.
Atom padded(BlockRewriter& r, const ByteData& x, std::vector<int64_t>& padding) {
  const size_t axes = padding.size() / 2;
  AttrList widths = {AttrList{0, 0}, AttrList{0, 0}};
  for (size_t d = 0; d < axes; ++d) widths.push_back(AttrList{padding[d], padding[axes + d]});
  padding.assign(padding.size(), 0);
  Atom value;
  const DType type = r.tensor(x.stored).dtype;
  if (const auto zero = single(r, x.zero)) {
    value = type == dtype::u8 ? Constant::of<uint8_t>(type, {}, {static_cast<uint8_t>(*zero)})
                              : Constant::of<int8_t>(type, {}, {static_cast<int8_t>(*zero)});
  } else {
    value = r.emit("cast", {x.zero}, {{"dtype", std::string(name(type))}});
    if (!r.tensor(value).shape.empty()) value = r.emit("reshape", {value}, {{"newshape", AttrList{}}});
  }
  return r.emit("nn.pad", {x.stored, value}, {{"pad_width", widths}});
}

// Whether float32 has all sums of products of bytes and these weights, in any order: with S, the sum of the magnitudes
// of an output channel's weights, they are integers up to 255 * S, which must not exceed 2^24. So is a zero point of
// the data times the sum of the weights.
bool are_exact_in_float(const SignedBytes& w) {
  const int64_t inner = product(w.bytes.shape(), 1);
  int64_t magnitude = 0, k = 0;
  for (const int8_t byte : w.bytes.as<int8_t>()) {
    if (k++ % inner == 0) magnitude = 0;
    magnitude += std::abs(byte + w.offset);
    if (UINT8_MAX * magnitude > int64_t{1} << 24) return false;
  }
  return true;
}

// The weights as the convolution reads them. Those of a depthwise convolution contain their offset.
Constant weights_of(const ByteConvolution& c, const SignedBytes& w) {
  if (!c.is_depthwise()) return w.bytes;
  auto as = [&]<class T>(DType type, T) {
    std::vector<T> values;
    for (const int8_t byte : w.bytes.as<int8_t>()) values.push_back(static_cast<T>(byte + w.offset));
    return Constant::of<T>(type, w.bytes.shape(), values);
  };
  if (c.sums == dtype::f32) return as(dtype::f32, float{});
  return w.offset == 0 ? w.bytes : as(dtype::i16, int16_t{});
}

Constant column(const std::vector<int32_t>& values) {
  return Constant::of<int32_t>(dtype::i32, {static_cast<int64_t>(values.size())}, values);
}

}  // namespace

bool is_known(const BlockRewriter& r, const Atom& a, int depth) {
  constexpr int deepest = 4;  // operators one after another
  if (std::holds_alternative<Constant>(a)) return true;
  const Operation* definition = r.definition(a);
  const Call* call = definition ? std::get_if<Call>(definition) : nullptr;
  const OperatorRef* o = call ? std::get_if<OperatorRef>(&call->callee) : nullptr;
  return o && !o->op->variadic && depth < deepest &&
         std::ranges::all_of(call->args, [&](const Atom& arg) { return is_known(r, arg, depth + 1); });
}

std::optional<Constant> known(const BlockRewriter& r, const Atom& a) {
  if (const Constant* c = std::get_if<Constant>(&a)) return *c;
  if (!is_known(r, a)) return std::nullopt;
  const Call& call = std::get<Call>(*r.definition(a));
  std::vector<Constant> args;
  Operands types;
  for (const Atom& arg : call.args) {
    auto value = known(r, arg);
    if (!value) return std::nullopt;
    types.push_back({shape_of(value->shape()), value->dtype()});
    args.push_back(std::move(*value));
  }
  auto results = evaluate(*std::get<OperatorRef>(call.callee).op, call.attrs, types, args);
  return results && results->size() == 1 ? std::optional(std::move(results->front())) : std::nullopt;
}

std::optional<double> single(const BlockRewriter& r, const Atom& a) {
  const auto c = known(r, a);
  if (!c || c->count() < 1) return std::nullopt;
  for (int64_t k = 1; k < c->count(); ++k)
    if (c->number_at(k) != c->number_at(0)) return std::nullopt;
  return c->number_at(0);
}

std::optional<SignedBytes> signed_bytes(const Constant& integers, int64_t zero) {
  const int64_t count = integers.count();
  if (count == 0 || integers.shape().size() < 2) return std::nullopt;
  if (integers.dtype() == dtype::i8 && zero == 0) return SignedBytes{integers};
  int64_t least = integers.integer_at(0), largest = least;
  for (int64_t k = 1; k < count; ++k) {
    const int64_t value = integers.integer_at(k);
    least = std::min(least, value);
    largest = std::max(largest, value);
  }
  least -= zero, largest -= zero;
  if (largest - least > UINT8_MAX || least < -UINT8_MAX || largest > UINT8_MAX) return std::nullopt;
  const int64_t offset = least >= INT8_MIN && largest <= INT8_MAX ? 0 : least - INT8_MIN;
  std::vector<int8_t> bytes;
  bytes.reserve(static_cast<size_t>(count));
  for (int64_t k = 0; k < count; ++k) bytes.push_back(static_cast<int8_t>(integers.integer_at(k) - zero - offset));
  return SignedBytes{Constant::of<int8_t>(dtype::i8, integers.shape(), bytes), static_cast<int32_t>(offset)};
}

bool ByteData::is_centred() const {
  const Constant* c = std::get_if<Constant>(&zero);
  return c && c->integer_at(0) == 0;
}

int offset_between(DType from, DType to) { return from == to ? 0 : to == dtype::u8 ? 128 : -128; }

Atom with_offset(BlockRewriter& r, const Atom& stored, DType to) {
  const int offset = offset_between(r.tensor(stored).dtype, to);
  if (offset == 0) return stored;
  Atom wide = r.emit("cast", {stored}, to_int32);
  Atom sum = r.emit("add", {wide, Constant::of<int32_t>(dtype::i32, {}, {offset})});
  return r.emit("cast", {sum}, {{"dtype", std::string(name(to))}});
}

Atom sum_of_bytes(BlockRewriter& r, const Atom& stored, int64_t axis) {
  const Atom wide = r.emit("cast", {stored}, to_int32);
  return r.emit("sum", {wide}, {{"axis", std::vector<int64_t>{axis}}, {"keepdims", true}});
}

// ---- convolutions ---------------------------------------------------------------------------------------------------

int64_t ByteConvolution::depth() const { return product(weights, 1); }

// Whether all axes are in the operator's own order; simplify_inference transposes others.
static bool is_in_own_order(const ConvAttrs& a, size_t rank) {
  const std::string own = channels_first[rank - 3];
  return a.data_layout == own && a.kernel_layout == channels_first_kernels[rank - 3] &&
         (a.out_layout.empty() || a.out_layout == own);
}

std::optional<ByteConvolution> byte_convolution(const std::string& name, const Call& call, const SignedBytes& w,
                                                tensor::ByteProducts products) {
  if (name != "nn.conv1d" && name != "nn.conv2d" && name != "nn.conv3d") return std::nullopt;
  ByteConvolution c{name, attributes_of<ConvAttrs>(call), call.attrs, w.bytes.shape(), {}};
  const int64_t axes = static_cast<int64_t>(c.weights.size()) - 2;
  if (!is_in_own_order(c.conv, c.weights.size())) return std::nullopt;
  if (c.conv.out_dtype || c.conv.pad_value != 0 || c.depth() > longest_sum(w)) return std::nullopt;
  if (c.is_depthwise() && !is_scalar(products) && are_exact_in_float(w)) c.sums = dtype::f32;
  if (!c.is_depthwise() && (w.offset != 0 && c.conv.groups != 1)) return std::nullopt;
  if (!c.is_depthwise() && !has_rows_of_four(c.conv, c.weights)) return std::nullopt;
  c.padding = c.conv.padding;
  if (std::cmp_equal(c.padding.size(), axes)) c.padding.insert(c.padding.end(), c.padding.begin(), c.padding.end());
  if (c.padding.size() == 1) c.padding.assign(static_cast<size_t>(2 * axes), c.padding[0]);
  if (std::cmp_not_equal(c.padding.size(), 2 * axes)) return std::nullopt;
  c.attrs.erase("kernel_size");
  c.pads_rows = is_scalar(products) && c.weights.size() == 4;
  return c;
}

namespace {

// sum(x * w), of the type of the convolution's sums.
Atom products(BlockRewriter& r, const ByteConvolution& c, const ByteData& x, const SignedBytes& w) {
  Constant weights = weights_of(c, w);
  std::vector<int64_t> padding = c.padding;
  if (reads_along_taps(c.conv, c.weights)) weights = with_more_taps(weights, padding.back());
  const auto pad_value = own_padding(c, x);
  const Atom data = pad_value ? x.stored : padded(r, x, padding);
  Attrs attrs = c.attrs;
  attrs["padding"] = padding;
  if (pad_value.value_or(0) != 0) attrs["pad_value"] = *pad_value;
  attrs["out_dtype"] = std::string(name(c.sums));
  return r.emit(c.name, {data, weights}, attrs);
}

// sum(x) for each pixel of the result of a convolution without groups: one channel of int32.
Atom sums_of_data(BlockRewriter& r, const ByteConvolution& c, const ByteData& x) {
  std::vector<int64_t> padding = c.padding;
  const Atom stored = own_padding(c, x) == 0 ? x.stored : padded(r, x, padding);
  return r.emit(fmt::format("nn.sum_pool{}d", c.weights.size() - 2), {sum_of_bytes(r, stored, 1)},
                {{"pool_size", std::vector<int64_t>(c.weights.begin() + 2, c.weights.end())},
                 {"strides", c.conv.strides},
                 {"dilation", c.conv.dilation},
                 {"padding", padding}});
}

}  // namespace

// ---- matrix products ------------------------------------------------------------------------------------------------

std::optional<ByteProduct> byte_product(BlockRewriter& r, const std::string& name, const Call& call,
                                        const SignedBytes& w) {
  if (name != "nn.dense" && name != "nn.matmul") return std::nullopt;
  const MatmulAttrs attrs = attributes_of<MatmulAttrs>(call);
  const bool transposed = name == "nn.dense" || attrs.transpose_b;
  const size_t n_axis = transposed ? 0 : 1;
  const std::vector<int64_t>& shape = w.bytes.shape();
  if (attrs.out_dtype || attrs.transpose_a || r.tensor(call.args[0]).shape.empty() || shape.size() != 2)
    return std::nullopt;
  const int64_t k = shape[1 - n_axis];
  if (k > longest_sum(w) || k % tensor::least_bytes_of_product != 0) return std::nullopt;
  return ByteProduct{name, call.attrs, n_axis};
}

// ---- sums with corrections ------------------------------------------------------------------------------------------

namespace {

// -zero * sum(w + offset) for each index of an axis of the weights.
std::vector<int32_t> corrections(int64_t zero, const SignedBytes& w, size_t axis) {
  const std::vector<int64_t>& shape = w.bytes.shape();
  const std::span<const int8_t> bytes = w.bytes.as<int8_t>();
  const auto inner = static_cast<size_t>(product(shape, axis + 1));
  std::vector<int64_t> sums(static_cast<size_t>(shape[axis]), 0);
  for (size_t k = 0; k < bytes.size(); k += inner) {
    int64_t& sum = sums[k / inner % sums.size()];
    for (const int8_t byte : bytes.subspan(k, inner)) sum += byte + w.offset;
  }
  std::vector<int32_t> result;
  for (const int64_t sum : sums) result.push_back(static_cast<int32_t>(-zero * sum));
  return result;
}

// The same as int32 of rank 1, constant if the zero point is.
Atom correction(BlockRewriter& r, const ByteData& x, const SignedBytes& w, size_t axis) {
  const Constant* zero = std::get_if<Constant>(&x.zero);
  const std::vector<int32_t> sums = corrections(zero ? zero->integer_at(0) : 1, w, axis);
  return zero ? Atom(column(sums)) : r.emit("multiply", {x.zero, column(sums)});
}

// What the offset of the weights adds to the sums.
Atom scaled_sums(BlockRewriter& r, const Atom& sums_of_data, const SignedBytes& w) {
  return r.emit("multiply", {sums_of_data, Constant::of<int32_t>(dtype::i32, {}, {w.offset})});
}

}  // namespace

Atom exact_sums(BlockRewriter& r, const ByteConvolution& c, const ByteData& x, const SignedBytes& w, DType type) {
  auto of_type = [&](const Atom& value) {
    return r.tensor(value).dtype == type ? value : r.emit("cast", {value}, {{"dtype", std::string(name(type))}});
  };
  Atom sums = of_type(products(r, c, x, w));
  if (w.offset != 0 && !c.is_depthwise()) sums = r.emit("add", {sums, scaled_sums(r, sums_of_data(r, c, x), w)});
  if (x.is_centred()) return sums;
  return r.emit("nn.bias_add", {sums, of_type(correction(r, x, w, 0))}, {{"axis", int64_t{1}}});
}

Atom integer_sums(BlockRewriter& r, const ByteProduct& p, const ByteData& x, const SignedBytes& w) {
  Attrs attrs = p.attrs;
  attrs["out_dtype"] = std::string("int32");
  Atom sums = r.emit(p.name, {x.stored, w.bytes}, attrs);
  if (w.offset != 0) sums = r.emit("add", {sums, scaled_sums(r, sum_of_bytes(r, x.stored, -1), w)});
  return x.is_centred() ? sums : r.emit("add", {sums, correction(r, x, w, p.n_axis)});
}

// ---- contractions of integers ---------------------------------------------------------------------------------------

namespace {

// Bytes as int32, minus a zero point.
std::optional<ByteData> centred_bytes(BlockRewriter& r, const Atom& a) {
  Atom wide = a, zero = Constant::of<int32_t>(dtype::i32, {}, {0});
  if (const Call* difference = r.call_of(a, "subtract")) {
    wide = difference->args[0], zero = difference->args[1];
    const Shape& shape = r.tensor(zero).shape;
    if (!shape.empty() && shape != Shape{1}) return std::nullopt;
    if (const auto value = known(r, zero))
      zero = Constant::of<int32_t>(dtype::i32, {}, {static_cast<int32_t>(value->integer_at(0))});
  }
  const Call* conversion = r.call_of(wide, "cast");
  if (!conversion || r.tensor(wide).dtype != dtype::i32) return std::nullopt;
  const DType type = r.tensor(conversion->args[0]).dtype;
  if (!is_byte(type)) return std::nullopt;
  return ByteData{conversion->args[0], zero};
}

// Whether the zero point is known to be a byte of the data's type, so that data can be padded with it.
bool fits_data(BlockRewriter& r, const Atom& zero, DType type) {
  if (const Constant* c = std::get_if<Constant>(&zero)) {
    const int64_t value = c->integer_at(0);
    return type == dtype::u8 ? value >= 0 && value <= UINT8_MAX : value >= INT8_MIN && value <= INT8_MAX;
  }
  if (const Call* shaped = r.call_of(zero, "reshape")) return fits_data(r, Atom(shaped->args[0]), type);
  const Call* conversion = r.call_of(zero, "cast");
  return conversion && r.tensor(conversion->args[0]).dtype == type;
}

// Data of the other type is read with an offset.
void convert(BlockRewriter& r, ByteData& x, DType to) {
  const int32_t offset = offset_between(r.tensor(x.stored).dtype, to);
  if (offset == 0) return;
  x.stored = with_offset(r, x.stored, to);
  if (const Constant* zero = std::get_if<Constant>(&x.zero))
    x.zero = Constant::of<int32_t>(dtype::i32, {}, {static_cast<int32_t>(zero->integer_at(0)) + offset});
  else
    x.zero = r.emit("add", {x.zero, Constant::of<int32_t>(dtype::i32, {}, {offset})});
}

}  // namespace

std::optional<Atom> contraction_of_integers(BlockRewriter& r, const std::string& name, const Call& call,
                                            tensor::ByteProducts products) {
  const DType data_type = tensor::data_of_byte_products(products);
  auto x = centred_bytes(r, call.args[0]);
  const auto integers = x ? known(r, call.args[1]) : std::nullopt;
  const auto w = integers && integers->dtype() == dtype::i32 ? signed_bytes(*integers) : std::nullopt;
  if (!w) return std::nullopt;
  if (const auto p = byte_product(r, name, call, *w)) {
    convert(r, *x, data_type);
    return integer_sums(r, *p, *x, *w);
  }
  const auto c = byte_convolution(name, call, *w, products);
  if (!c) return std::nullopt;
  const bool pads = std::ranges::any_of(c->padding, [](int64_t p) { return p != 0; }) && !x->is_centred();
  const DType type = r.tensor(x->stored).dtype;
  if (pads && !fits_data(r, x->zero, type)) return std::nullopt;
  convert(r, *x, c->is_depthwise() && type == dtype::u8 ? type : data_type);
  return exact_sums(r, *c, *x, *w, dtype::i32);
}

}  // namespace dlcc::relay
