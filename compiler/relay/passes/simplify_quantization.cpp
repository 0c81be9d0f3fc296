// Quantizers write a quantization and a dequantization around every operator, also around those that only move data.
// The data is moved as it is stored, and what is quantized as it was dequantized is the stored data. Where s and z are
// the same scales and zero points,
//
//   transpose(dequantize(x, s, z))       becomes  dequantize(transpose(x), s, z)
//   quantize(reshape(x), s, z)           becomes  reshape(quantize(x, s, z)), if nothing else reads reshape(x)
//   quantize(dequantize(x, s, z), s, z)  becomes  x
//
// The first two are exact for every type and one scale of the whole tensor; of scales along an axis, a transposition
// moves the axis. A maximum over windows is a movement, too, for a positive scale. The last is exact for integers of up
// to 16 bits: the product and the quotient are each rounded once, so that the quotient differs from x - z by less than
// 2^17 * 2^-23. Functions of bytes that take long become tables (byte_tables.h).
#include <algorithm>
#include <array>
#include <set>

#include "relay/attr_structs.h"
#include "relay/op_support/type_checks.h"
#include "relay/passes/block_rewriter.h"
#include "relay/passes/byte_contractions.h"
#include "relay/passes/byte_tables.h"
#include "relay/passes/passes.h"

namespace dlcc::relay {

namespace {

using Result = std::optional<Atom>;

bool are_equal(const Constant& a, const Constant& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  for (int64_t k = 0; k < a.count(); ++k)
    if (a.number_at(k) != b.number_at(k)) return false;
  return true;
}

// The last two operands of a quantization or dequantization.
bool have_equal_parameters(const BlockRewriter& r, const Call& a, const Call& b) {
  for (const size_t k : {1, 2}) {
    const auto x = known(r, a.args[k]), y = known(r, b.args[k]);
    if (!x || !y || !are_equal(*x, *y)) return false;
  }
  return true;
}

// Whether all elements have one known scale and zero point.
bool has_one_scale(const BlockRewriter& r, const Call& c) {
  return std::ranges::all_of(std::array{c.args[1], c.args[2]}, [&](const Atom& a) {
    const auto value = known(r, a);
    return value && value->rank() <= 1 && value->count() == 1;
  });
}

// Scales whose products with integers of up to 17 bits are normal numbers of float32.
bool are_of_moderate_size(const Constant& scales) {
  for (int64_t k = 0; k < scales.count(); ++k)
    if (!(scales.number_at(k) >= 0x1p-126 && scales.number_at(k) <= 0x1p110)) return false;
  return scales.dtype() == dtype::f32;
}

Result stored_data(BlockRewriter& r, const Call& quantize) {
  const Call* dequantize = r.call_of(quantize.args[0], "qnn.dequantize");
  if (!dequantize || !have_equal_parameters(r, quantize, *dequantize)) return std::nullopt;
  const QuantizeAttrs to = attributes_of<QuantizeAttrs>(quantize);
  const DequantizeAttrs from = attributes_of<DequantizeAttrs>(*dequantize);
  const Constant scales = *known(r, quantize.args[1]);
  const DType type = r.tensor(dequantize->args[0]).dtype,
              result = to.out_dtype.value_or(r.tensor(quantize.args[2]).dtype);
  if (type != result || !is_integer(type) || bits(type) > 16 || to.block_size != 0 || from.block_size != 0)
    return std::nullopt;
  const auto rank = static_cast<int>(r.tensor(quantize.args[0]).shape.size());
  if (scales.count() != 1 && wrap_axis(to.axis, rank) != wrap_axis(from.axis, rank)) return std::nullopt;
  const bool is_f32 =
      to.precision.value_or(dtype::f32) == dtype::f32 && from.out_dtype.value_or(dtype::f32) == dtype::f32;
  return is_f32 && are_of_moderate_size(scales) ? Result(dequantize->args[0]) : std::nullopt;
}

// Whether each window of a pooling has an element of the image, so that a maximum is one of the data.
bool has_elements_in_windows(const PoolAttrs& a) {
  const auto is_one = [](int64_t d) { return d == 1; };
  const int64_t least = *std::ranges::min_element(a.pool_size);
  return !a.ceil_mode && std::ranges::all_of(a.dilation, is_one) &&
         std::ranges::all_of(a.padding, [&](int64_t p) { return p < least; });
}

// The axis of the scales after a data movement of their tensor; empty if the operation is none, or if equal scales
// would not stay along one axis.
std::optional<int64_t> axis_after(BlockRewriter& r, const std::string& name, const Call& call, const Call& dequantize) {
  static const std::set<std::string> movements = {"reshape",          "squeeze",      "expand_dims",
                                                  "strided_slice",    "broadcast_to", "reverse",
                                                  "nn.batch_flatten", "tile",         "repeat"};
  static const std::set<std::string> maxima = {"nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"};
  if (call.args.size() != 1) return std::nullopt;
  const DequantizeAttrs attrs = attributes_of<DequantizeAttrs>(dequantize);
  const bool is_one = has_one_scale(r, dequantize);
  if (is_one && movements.contains(name)) return 0;
  if (is_one && maxima.contains(name)) {
    const bool is_ordered =
        is_integer(r.tensor(dequantize.args[0]).dtype) && known(r, dequantize.args[1])->number_at(0) > 0;
    return is_ordered && has_elements_in_windows(attributes_of<PoolAttrs>(call)) ? std::optional<int64_t>(0)
                                                                                 : std::nullopt;
  }
  if (name != "transpose" || attrs.block_size != 0) return std::nullopt;
  if (is_one) return 0;
  const auto rank = static_cast<int>(r.tensor(call.args[0]).shape.size());
  const std::vector<int64_t> order = attributes_of<TransposeAttrs>(call).order(rank);
  return std::ranges::find(order, wrap_axis(attrs.axis, rank)) - order.begin();
}

Result moved(BlockRewriter& r, const Binding& b, const Call& call, const std::string& name) {
  const Call* found = call.args.empty() ? nullptr : r.call_of(call.args[0], "qnn.dequantize");
  if (!found) return std::nullopt;
  const Call dequantize = *found;  // emitting operations moves the original
  const auto axis = axis_after(r, name, call, dequantize);
  const TensorType* result = as<TensorType>(b.var->type);
  if (!axis || !result || result->shape.empty()) return std::nullopt;
  const Atom stored = r.emit(name, {dequantize.args[0]}, call.attrs);
  if (r.tensor(stored).shape != result->shape) return std::nullopt;
  Attrs attrs = dequantize.attrs;
  attrs["axis"] = *axis;
  return r.emit("qnn.dequantize", {stored, dequantize.args[1], dequantize.args[2]}, attrs);
}

// Elements are quantized before they are moved, so that bytes are moved.
Result quantized_first(BlockRewriter& r, const Call& quantize) {
  static const std::set<std::string> movements = {"reshape", "squeeze", "expand_dims", "nn.batch_flatten", "transpose"};
  const Operation* definition = r.definition(quantize.args[0]);
  const Call* found = definition ? std::get_if<Call>(definition) : nullptr;
  const OperatorRef* o = found ? std::get_if<OperatorRef>(&found->callee) : nullptr;
  if (!o || !movements.contains(o->op->name) || found->args.size() != 1) return std::nullopt;
  if (!has_one_scale(r, quantize) || !r.used_once(quantize.args[0]) || r.tensor(found->args[0]).shape.empty())
    return std::nullopt;
  const std::string& name = o->op->name;
  const Call movement = *found;  // emitting operations moves the original
  Attrs attrs = quantize.attrs;
  attrs["axis"] = int64_t{0};
  const Call first{quantize.callee, {movement.args[0], quantize.args[1], quantize.args[2]}, attrs};
  const Result table = looked_up(r, first);
  return r.emit(name, {table ? *table : r.emit("qnn.quantize", first.args, attrs)}, movement.attrs);
}

Result quantized(BlockRewriter& r, const Call& quantize) {
  if (Result stored = stored_data(r, quantize)) return stored;
  if (Result moved = quantized_first(r, quantize)) return moved;
  return looked_up(r, quantize);
}

Result simplified(BlockRewriter& r, const Binding& b) {
  const Call* found = std::get_if<Call>(&b.op);
  const OperatorRef* o = found ? std::get_if<OperatorRef>(&found->callee) : nullptr;
  if (!o) return std::nullopt;
  const Call call = *found;
  return o->op->name == "qnn.quantize" ? quantized(r, call) : moved(r, b, call, o->op->name);
}

}  // namespace

Module simplify_quantization(Module module, PassContext&) {
  EffectAnalysis effects(module);
  for (auto& [name, f] : module.functions) BlockRewriter(module, effects, simplified).run(f.body);
  return module;
}

}  // namespace dlcc::relay
