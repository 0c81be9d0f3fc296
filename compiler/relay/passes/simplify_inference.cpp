// Removes operations without effect at inference, and moves constant scales and offsets into weights and biases. Rules
// emit operations on constants; fold_constants evaluates them.
//
//   operation                           becomes                    when
//   %y = %x, (a, b).i                   %x, a or b
//   dropout(x).0                        x
//   an identity, such as x + 0          the operand                found by its definition's structure
//   batch_norm(x, constants).0          x * scale + offset         .1 and .2 are the operands
//   reshape(reshape(x))                 reshape(x)                 static shapes
//   transpose(transpose(x))             transpose(x)
//   x - c                               x + -c                     c constant
//   contraction(x, w) * c, ... / c      contraction(x, w * c)      w, c constant, c per output channel, single use; the
//                                                                  type represents w * c with full precision
//   (y + b) * c, bias_add(y, b) * c     y * c + b * c              y * c is absorbed; b constant, single use
//   (y + b) + c, bias_add(y, b) + c     y + (b + c)                b, c constant, single use
//   contraction(x, w) + c               bias_add(contraction, c)   c constant, per output channel
//   avg_pool(conv(x, w))                conv(avg_pool(x), w)       1x1 kernel, fewer pixels after the pooling, single
//                                                                  use
//   conv(x, w, data_layout="NHWC", ...) transpose(conv(transpose(x), transpose(w)))   also pooling, and other layouts:
//                                                                  later passes know the order NCHW only
#include <algorithm>
#include <cmath>

#include "relay/attr_structs.h"
#include "relay/op_support/axis_order.h"
#include "relay/passes/block_rewriter.h"
#include "relay/passes/passes.h"
#include "relay/passes/unread_operands.h"
#include "support/float_formats.h"
#include "tensor/analysis.h"
#include "tensor/data_movement.h"
#include "tensor/passes/compose.h"

namespace dlcc::relay {

namespace {

using Result = std::optional<Atom>;

const std::string& name_of(const Call& call) {
  static const std::string none;
  const OperatorRef* o = std::get_if<OperatorRef>(&call.callee);
  return o ? o->op->name : none;
}

// ---- contractions: operators that are linear in a weight

struct Contraction {
  int weight_axis;  // of the second operand: the output channels
  int result_axis;  // of the result, where they appear
};

bool is_convolution(const Call& call) {
  const std::string& name = name_of(call);
  return name == "nn.conv1d" || name == "nn.conv2d" || name == "nn.conv3d";
}

std::optional<Contraction> contraction(const Call& call) {
  const std::string& name = name_of(call);
  if (is_convolution(call) && !attributes_of<ConvAttrs>(call).out_dtype) return Contraction{0, 1};
  if (name != "nn.dense" && name != "nn.matmul") return std::nullopt;
  MatmulAttrs attrs = attributes_of<MatmulAttrs>(call);
  return attrs.out_dtype ? std::nullopt : std::optional(Contraction{attrs.transpose_b ? 0 : 1, -1});
}

const Call* contraction_of(const BlockRewriter& r, const Atom& atom, Contraction& found) {
  const Operation* op = r.definition(atom);
  const Call* call = op ? std::get_if<Call>(op) : nullptr;
  auto c = call ? contraction(*call) : std::nullopt;
  if (!c) return nullptr;
  found = *c;
  return call;
}

// The factor or offset as a vector along one axis of a tensor of type `of`, or of one element. Empty when it varies
// along other axes.
Result along_axis(BlockRewriter& r, const Atom& factor, const TensorType& of, int axis) {
  int rank = static_cast<int>(of.shape.size()), channel = axis < 0 ? axis + rank : axis;
  TensorType t = r.tensor(factor);
  int offset = rank - static_cast<int>(t.shape.size());
  if (offset < 0 || !is_static(t.shape) || t.dtype != of.dtype || !is_float(of.dtype)) return std::nullopt;
  for (int d = 0; d < static_cast<int>(t.shape.size()); ++d) {
    bool is_channel = d + offset == channel && t.shape[d] == of.shape[channel];
    if (!is_channel && !(t.shape[d] == Dim(1))) return std::nullopt;
  }
  if (t.shape.size() == 1) return factor;
  return r.emit("reshape", {factor}, {{"newshape", std::vector<int64_t>{-1}}});
}

// A vector as a tensor that broadcasts along `axis` of a tensor of `rank` dimensions.
Atom spread(BlockRewriter& r, const Atom& vector, int axis, int rank) {
  std::vector<int64_t> shape(rank - (axis < 0 ? axis + rank : axis), 1);
  shape[0] = r.tensor(vector).shape[0].value();
  return shape.size() == 1 ? vector : r.emit("reshape", {vector}, {{"newshape", shape}});
}

// ---- scales

constexpr int max_additions = 8;  // between a contraction and a scale

// Whether constant weights can be multiplied by a factor per output channel in their own type: factors and products are
// finite, and the largest product of a channel is not subnormal unless it is 0 exactly. Smaller products then lose at
// most half a unit in the last place of the largest.
bool keeps_precision(const Constant& weight, const Constant& factor, int channel_axis) {
  const FloatRange range = float_range(weight.dtype());
  auto fits = [&](double v) { return v == 0 || (v >= range.smallest_normal && v <= range.largest); };
  const int64_t channels = weight.shape()[channel_axis];
  int64_t inner = 1;
  for (int64_t d = channel_axis + 1; d < weight.rank(); ++d) inner *= weight.shape()[d];
  std::vector<double> largest(channels, 0);
  for (int64_t k = 0; k < weight.count(); ++k) {
    const double magnitude = std::abs(weight.number_at(k));
    if (!(magnitude <= range.largest)) return false;
    double& most = largest[k / inner % channels];
    most = std::max(most, magnitude);
  }
  for (int64_t c = 0; c < channels; ++c) {
    const double scale = std::abs(factor.number_at(factor.count() == 1 ? 0 : c));
    if (!fits(scale) || !fits(largest[c] * scale)) return false;
  }
  return true;
}

// Whether a scaled offset is known and all its elements are finite.
bool is_finite(const std::optional<Constant>& scaled) {
  if (!scaled) return false;
  for (int64_t k = 0; k < scaled->count(); ++k)
    if (!std::isfinite(scaled->number_at(k))) return false;
  return true;
}

// y * factor, with the factor moved into the operands of y; empty if y cannot absorb it. Sums of products of integers,
// which are exact, stay as they are.
Result absorb_scale(BlockRewriter& r, const Atom& y, const Atom& factor, int depth = 0) {
  if (depth > max_additions || !r.used_once(y) || !r.definition(y)) return std::nullopt;
  TensorType type = r.tensor(y);
  Contraction c;
  if (const Call* found = contraction_of(r, y, c)) {
    Call call = *found;  // emitting operations moves the original
    if (!r.is_constant(call.args[1]) || r.tensor(call.args[1]).dtype != type.dtype) return std::nullopt;
    if (!is_float(r.tensor(call.args[0]).dtype)) return std::nullopt;
    Result vector = along_axis(r, factor, type, c.result_axis);
    if (!vector) return std::nullopt;
    const auto weights = r.value(call.args[1]), factors = r.value(*vector);
    if (!weights || !factors || !keeps_precision(*weights, *factors, c.weight_axis)) return std::nullopt;
    int weight_rank = static_cast<int>(r.tensor(call.args[1]).shape.size());
    Atom weight = r.emit("multiply", {call.args[1], spread(r, *vector, c.weight_axis, weight_rank)});
    return r.emit(name_of(call), {call.args[0], weight}, call.attrs);
  }
  if (const Call* found = r.call_of(y, "nn.bias_add")) {
    Call call = *found;
    int axis = static_cast<int>(attributes_of<BiasAddAttrs>(call).axis);
    if (!r.is_constant(call.args[1])) return std::nullopt;
    Result vector = along_axis(r, factor, type, axis);
    if (!vector) return std::nullopt;
    Atom bias = r.emit("multiply", {call.args[1], *vector});
    Result scaled = is_finite(r.value(bias)) ? absorb_scale(r, call.args[0], factor, depth + 1) : std::nullopt;
    if (!scaled) return std::nullopt;
    return r.emit("nn.bias_add", {*scaled, bias}, call.attrs);
  }
  if (const Call* found = r.call_of(y, "add")) {
    Call call = *found;
    if (!r.is_constant(call.args[1])) return std::nullopt;
    Atom offset = r.emit("multiply", {call.args[1], factor});
    Result scaled = is_finite(r.value(offset)) ? absorb_scale(r, call.args[0], factor, depth + 1) : std::nullopt;
    if (!scaled) return std::nullopt;
    return r.emit("add", {*scaled, offset});
  }
  return std::nullopt;
}

// The operand that is not constant first; empty unless exactly one is constant.
std::optional<std::pair<Atom, Atom>> split_constant(const BlockRewriter& r, const Call& call) {
  bool left = r.is_constant(call.args[0]), right = r.is_constant(call.args[1]);
  if (left == right) return std::nullopt;
  return left ? std::pair(call.args[1], call.args[0]) : std::pair(call.args[0], call.args[1]);
}

Result multiply(BlockRewriter& r, const Binding&, const Call& call) {
  auto operands = split_constant(r, call);
  return operands ? absorb_scale(r, operands->first, operands->second) : std::nullopt;
}

Result divide(BlockRewriter& r, const Binding&, const Call& call) {
  if (r.is_constant(call.args[0]) || !r.is_constant(call.args[1])) return std::nullopt;
  TensorType t = r.tensor(call.args[1]);
  if (!is_float(t.dtype) || !r.used_once(call.args[0])) return std::nullopt;
  Contraction c;
  bool absorbs = contraction_of(r, call.args[0], c) || r.call_of(call.args[0], "nn.bias_add");
  if (!absorbs) return std::nullopt;
  Atom one = r.emit("cast", {Constant::of<float>(dtype::f32, {}, {1.0f})}, {{"dtype", std::string(name(t.dtype))}});
  return absorb_scale(r, call.args[0], r.emit("divide", {one, call.args[1]}));
}

// ---- offsets

Result absorb_offset(BlockRewriter& r, const Atom& y, const Atom& offset) {
  TensorType type = r.tensor(y);
  if (!is_float(type.dtype)) return std::nullopt;
  if (const Call* found = r.call_of(y, "nn.bias_add"); found && r.used_once(y)) {
    Call call = *found;
    if (!r.is_constant(call.args[1])) return std::nullopt;
    Result vector = along_axis(r, offset, type, static_cast<int>(attributes_of<BiasAddAttrs>(call).axis));
    if (!vector) return std::nullopt;
    return r.emit("nn.bias_add", {call.args[0], r.emit("add", {call.args[1], *vector})}, call.attrs);
  }
  if (const Call* found = r.call_of(y, "add"); found && r.used_once(y)) {
    Call call = *found;
    if (!r.is_constant(call.args[1]) || r.tensor(call.args[1]).shape != r.tensor(offset).shape) return std::nullopt;
    return r.emit("add", {call.args[0], r.emit("add", {call.args[1], offset})});
  }
  Contraction c;
  if (!contraction_of(r, y, c)) return std::nullopt;
  Result vector = along_axis(r, offset, type, c.result_axis);
  Dim channels = type.shape[c.result_axis < 0 ? type.shape.size() + c.result_axis : c.result_axis];
  if (!vector || !channels.is_constant()) return std::nullopt;
  if (!(r.tensor(*vector).shape[0] == channels))
    vector = r.emit("broadcast_to", {*vector}, {{"shape", std::vector<int64_t>{channels.value()}}});
  return r.emit("nn.bias_add", {y, *vector}, {{"axis", int64_t{c.result_axis}}});
}

Result add(BlockRewriter& r, const Binding&, const Call& call) {
  auto operands = split_constant(r, call);
  if (!operands) return std::nullopt;
  if (Result absorbed = absorb_offset(r, operands->first, operands->second)) return absorbed;
  // Rules expect the constant as the second operand.
  if (r.is_constant(call.args[0])) return r.emit("add", {operands->first, operands->second});
  return std::nullopt;
}

Result subtract(BlockRewriter& r, const Binding&, const Call& call) {
  if (r.is_constant(call.args[0]) || !r.is_constant(call.args[1])) return std::nullopt;
  if (!is_float(r.tensor(call.args[1]).dtype)) return std::nullopt;
  Atom offset = r.emit("negative", {call.args[1]});
  if (Result absorbed = absorb_offset(r, call.args[0], offset)) return absorbed;
  return r.emit("add", {call.args[0], offset});
}

// ---- batch normalization

// The value itself: x * scale + offset with scale = gamma / sqrt(var + epsilon), offset = beta - mean * scale; computed
// in float32 for the narrow types, whose precision would be lost in the steps and where x * scale and the offset
// cancel.
Result batch_norm_value(BlockRewriter& r, const Call& call) {
  for (size_t i = 1; i < 5; ++i)
    if (!r.is_constant(call.args[i])) return std::nullopt;
  TensorType data = r.tensor(call.args[0]);
  BatchNormAttrs attrs = attributes_of<BatchNormAttrs>(call);
  int rank = static_cast<int>(data.shape.size()), axis = static_cast<int>(attrs.axis);
  DType wide = data.dtype == dtype::f64 ? dtype::f64 : dtype::f32;
  auto cast = [&](const Atom& a, DType to) {
    return r.tensor(a).dtype == to ? a : r.emit("cast", {a}, {{"dtype", std::string(name(to))}});
  };
  auto operand = [&](int i) { return cast(call.args[i], wide); };
  Constant epsilon = Constant::of<double>(dtype::f64, {}, {attrs.epsilon});
  Atom deviation = r.emit("sqrt", {r.emit("add", {operand(4), cast(epsilon, wide)})});
  Atom one = cast(Constant::of<float>(dtype::f32, {}, {1.0f}), wide);
  Atom scale = r.emit("divide", {attrs.scale ? operand(1) : one, deviation});
  Atom offset = r.emit("negative", {r.emit("multiply", {operand(3), scale})});
  if (attrs.center) offset = r.emit("add", {operand(2), offset});
  const Atom narrow_offset = spread(r, cast(offset, data.dtype), axis, rank);
  if (const Result scaled = absorb_scale(r, call.args[0], spread(r, cast(scale, data.dtype), axis, rank))) {
    const Result shifted = absorb_offset(r, *scaled, narrow_offset);
    return shifted ? *shifted : r.emit("add", {*scaled, narrow_offset});
  }
  const Atom y = r.emit("multiply", {cast(call.args[0], wide), spread(r, scale, axis, rank)});
  if (data.dtype != wide) return cast(r.emit("add", {y, spread(r, offset, axis, rank)}), data.dtype);
  const Result shifted = absorb_offset(r, y, narrow_offset);
  return shifted ? *shifted : r.emit("add", {y, narrow_offset});
}

Result project(BlockRewriter& r, const Project& op) {
  const Operation* tuple = r.definition(op.tuple);
  if (!tuple) return std::nullopt;
  if (const MakeTuple* made = std::get_if<MakeTuple>(tuple)) return made->fields[op.index];
  if (const Call* dropout = r.call_of(op.tuple, "nn.dropout"); dropout && op.index == 0) return dropout->args[0];
  if (const Call* found = r.call_of(op.tuple, "nn.batch_norm")) {
    Call call = *found;
    return op.index == 0 ? batch_norm_value(r, call) : Result(call.args[op.index + 2]);
  }
  return std::nullopt;
}

// ---- identities, chains of reshapes and transposes

bool is_zero_or_one(const Atom& a) {
  const Constant* c = std::get_if<Constant>(&a);
  return c && c->count() == 1 && (c->number_at(0) == 0 || c->number_at(0) == 1);
}

// The result has the type of one operand and its elements in the same order. The others are constants: x + 0, x * 1 of
// integers.
Result identity(BlockRewriter& r, const Binding& b, const Call& call) {
  const OperatorRef* o = std::get_if<OperatorRef>(&call.callee);
  if (!o || o->op->variadic || !o->op->has_definition() || !as<TensorType>(b.var->type)) return std::nullopt;
  const auto operand = std::ranges::find_if_not(call.args, is_zero_or_one);
  if (operand == call.args.end() || !std::all_of(operand + 1, call.args.end(), is_zero_or_one) ||
      !same_type(type_of(r.module(), *operand), b.var->type))
    return std::nullopt;
  std::vector<Atom> args = call.args;
  Operands types;
  for (const Atom& a : args) types.push_back(r.tensor(a));
  tensor::TensorFunction f = o->op->compute_as(call.attrs, types, b.var->type);
  embed_scalars(f, args);
  if (f.params.size() != 1 || f.results.size() != 1) return std::nullopt;
  tensor::inline_stages(f);
  return tensor::is_view(f) ? Result(*operand) : std::nullopt;
}

Result reshape(BlockRewriter& r, const Binding& b, const Call& call) {
  const Call* inner = r.call_of(call.args[0], "reshape");
  const TensorType* type = as<TensorType>(b.var->type);
  if (!inner || !type || !is_static(type->shape)) return std::nullopt;
  Atom data = inner->args[0];
  if (same_type(type_of(r.module(), data), b.var->type)) return data;
  return r.emit("reshape", {data}, {{"newshape", static_shape(type->shape)}, {"allowzero", true}});
}

// The data with axis k of the result from axis order[k]; one transposition if the data are transposed.
Atom transposed(BlockRewriter& r, Atom data, std::vector<int64_t> order) {
  if (const Call* inner = r.call_of(data, "transpose")) {
    const std::vector<int64_t> first = attributes_of<TransposeAttrs>(*inner).order(static_cast<int64_t>(order.size()));
    data = Atom(inner->args[0]);
    for (int64_t& axis : order) axis = first[static_cast<size_t>(axis)];
  }
  return std::ranges::is_sorted(order) ? data : r.emit("transpose", {data}, {{"axes", order}});
}

Result transpose(BlockRewriter& r, const Binding&, const Call& call) {
  if (!r.call_of(call.args[0], "transpose")) return std::nullopt;
  const Atom data = call.args[0];
  return transposed(r, data,
                    attributes_of<TransposeAttrs>(call).order(static_cast<int64_t>(r.tensor(data).shape.size())));
}

// ---- pooling

// A convolution with 1x1 taps that reads every pixel once: it commutes with sums over pixels.
bool is_projection(const BlockRewriter& r, const Call& conv) {
  auto all = [](const std::vector<int64_t>& list, int64_t value) {
    return std::ranges::all_of(list, [&](int64_t v) { return v == value; });
  };
  ConvAttrs attrs = attributes_of<ConvAttrs>(conv);
  Shape weights = r.tensor(conv.args[1]).shape;
  bool one_tap = std::ranges::all_of(weights.begin() + 2, weights.end(), [](const Dim& d) { return d == Dim(1); });
  return one_tap && all(attrs.strides, 1) && all(attrs.padding, 0);
}

Result average_pool(BlockRewriter& r, const Binding& b, const Call& call) {
  Contraction c;
  const Call* found = r.used_once(call.args[0]) ? contraction_of(r, call.args[0], c) : nullptr;
  if (!found || !is_convolution(*found) || !is_projection(r, *found)) return std::nullopt;
  if (!is_float(as<TensorType>(b.var->type)->dtype)) return std::nullopt;  // an average of integers is rounded
  Call conv = *found;                                                      // emitting operations moves the original
  Shape before = r.tensor(call.args[0]).shape, after = as<TensorType>(b.var->type)->shape;
  if (!is_static(before) || !is_static(after) || product(after).value() >= product(before).value()) return std::nullopt;
  Atom pooled = r.emit(name_of(call), {conv.args[0]}, call.attrs);
  return r.emit(name_of(conv), {pooled, conv.args[1]}, conv.attrs);
}

// ---- layouts

// The call with its operands and its result in the operator's own order of axes; nothing if they are in this order.
Result in_own_order(BlockRewriter& r, const Call& call, const std::vector<AxisOrder>& operands,
                    const AxisOrder& result) {
  if (result.is_own() && std::ranges::all_of(operands, &AxisOrder::is_own)) return std::nullopt;
  const std::string name = name_of(call);
  std::vector<Atom> args = call.args;  // emitting operations moves the call
  Attrs attrs = call.attrs;
  for (const char* layout : {"data_layout", "kernel_layout", "layout", "out_layout"}) attrs.erase(layout);
  for (size_t k = 0; k < operands.size(); ++k)
    if (!operands[k].is_own()) args[k] = transposed(r, args[k], operands[k].axes());
  const Atom value = r.emit(name, std::move(args), std::move(attrs));
  return result.is_own() ? value : transposed(r, value, result.inverse());
}

Result conv_layouts(BlockRewriter& r, const Binding&, const Call& call) {
  const ConvAttrs a = attributes_of<ConvAttrs>(call);
  const size_t k = r.tensor(call.args[0]).shape.size() - 3;
  const std::string& result = a.out_layout.empty() ? a.data_layout : a.out_layout;
  return in_own_order(r, call, {{a.data_layout, channels_first[k]}, {a.kernel_layout, channels_first_kernels[k]}},
                      {result, channels_first[k]});
}

Result pool_layouts(BlockRewriter& r, const Binding&, const Call& call) {
  const PoolAttrs a = attributes_of<PoolAttrs>(call);
  const std::string own = channels_first[r.tensor(call.args[0]).shape.size() - 3];
  return in_own_order(r, call, {{a.layout, own}}, {a.out_layout.empty() ? a.layout : a.out_layout, own});
}

// ---- the table

struct CallRule {
  const char* op;
  Result (*apply)(BlockRewriter&, const Binding&, const Call&);
};
constexpr CallRule call_rules[] = {
    {"multiply", multiply},
    {"divide", divide},
    {"add", add},
    {"subtract", subtract},
    {"reshape", reshape},
    {"transpose", transpose},
    {"nn.conv1d", conv_layouts},
    {"nn.conv2d", conv_layouts},
    {"nn.conv3d", conv_layouts},
    {"nn.max_pool1d", pool_layouts},
    {"nn.max_pool2d", pool_layouts},
    {"nn.max_pool3d", pool_layouts},
    {"nn.sum_pool1d", pool_layouts},
    {"nn.sum_pool2d", pool_layouts},
    {"nn.sum_pool3d", pool_layouts},
    {"nn.avg_pool1d", pool_layouts},
    {"nn.avg_pool2d", pool_layouts},
    {"nn.avg_pool3d", pool_layouts},
    {"nn.avg_pool1d", average_pool},
    {"nn.avg_pool2d", average_pool},
    {"nn.avg_pool3d", average_pool},
};

Result simplify(BlockRewriter& r, const Binding& b) {
  if (const Alias* alias = std::get_if<Alias>(&b.op)) return alias->value;
  if (const Project* op = std::get_if<Project>(&b.op)) return project(r, *op);
  const Call* call = std::get_if<Call>(&b.op);
  if (!call) return std::nullopt;
  for (const CallRule& rule : call_rules)
    if (name_of(*call) == rule.op)
      if (Result result = rule.apply(r, b, *call)) return result;
  return identity(r, b, *call);
}

}  // namespace

Module simplify_inference(Module module, PassContext&) {
  EffectAnalysis effects(module);
  for (auto& [name, f] : module.functions) BlockRewriter(module, effects, simplify).run(f.body);
  return module;
}

}  // namespace dlcc::relay
