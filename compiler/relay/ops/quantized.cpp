// qnn.* but quantize and dequantize: operators on quantized tensors, real = (stored - zero point) * scale. Contractions
// give int32 sums; the others compute real numbers and round once, so that results may differ by one step from TVM's,
// which rounds intermediate results.
#include "relay/attr_structs.h"
#include "relay/op_support/composition.h"
#include "relay/op_support/quantization.h"

namespace dlcc::relay::ops {

namespace {

struct RequantizeAttrs {
  int64_t axis = -1;
  std::string rounding = "None", compute_dtype = "None";
  DType out_dtype = dtype::i8;
};
struct BroadcastAttrs {
  int64_t lhs_axis = -1, rhs_axis = -1;
};
struct QuantizedSoftmaxAttrs {
  int64_t axis = -1;
};
struct QuantizedLeakyReluAttrs {
  double alpha = 0.25;
};
struct QuantizedConcatenateAttrs {
  int64_t axis = 0;
};
struct SimulatedAttrs {
  int64_t axis = -1;
  std::optional<DType> out_dtype;
};

// A quantized tensor.
struct Quantized {
  Value stored, scale, zero;
  int64_t axis = -1;
};

void check_quantized(const Composition& c, const Quantized& q, const char* data, const char* scale, const char* zero) {
  c.require(first_of({check_type(q.stored.type, data, types::integer), check_type(q.scale.type, scale, types::real),
                      check_type(q.zero.type, zero, types::integer),
                      check_granularity(q.stored.shape(), q.scale.type, scale, q.axis, 0),
                      check_granularity(q.stored.shape(), q.zero.type, zero, q.axis, 0)}));
}

void check_output(const Composition& c, const Value& scale, const Value& zero) {
  c.require(first_of({check_type(scale.type, "output_scale", types::real),
                      check_type(zero.type, "output_zero_point", types::integer)}));
  if (!is_single(scale.shape()) || !is_single(zero.shape()))
    c.fail(shape_error("output_scale and output_zero_point must have one element"));
}

// The operands (data, scale, zero point) from operand `first` on.
Quantized quantized_operand(Composition& c, size_t first, const char* data, int64_t axis = -1) {
  const Quantized q = {c.operand(first), c.operand(first + 1), c.operand(first + 2), axis};
  check_quantized(c, q, data, "scale", "zero_point");
  return q;
}

Value dequantized(Composition& c, const Quantized& q) {
  return c.compute(dtype::f32, q.stored.shape(), {q.stored, q.scale, q.zero},
                   [axis = q.axis](const std::vector<Tensor>& args, Index i) {
                     const Expr zero = cast(dtype::i64, parameter_at(args[2], i, axis, 0));
                     const Expr scale = cast(dtype::f32, parameter_at(args[1], i, axis, 0));
                     return cast(dtype::f32, cast(dtype::i64, args[0](i)) - zero) * scale;
                   });
}

Value quantized(Composition& c, const Value& real, const Value& scale, const Value& zero, DType type) {
  check_output(c, scale, zero);
  return c.call("qnn.quantize", {real, scale, c.cast(zero, dtype::i32)}, {{"out_dtype", std::string(name(type))}});
}

// ---- requantize

// The types of TVM's requantize.
Failure check_requantized(DType type) {
  if (type == dtype::i8 || type == dtype::u8 || type == dtype::i16 || type == dtype::i32) return std::nullopt;
  return attribute_error(fmt::format("out_dtype must be int8, uint8, int16 or int32, found {}", name(type)));
}

// In float64: the factor is the quotient of the scales, and halves are rounded up, or away from zero for "TONEAREST".
Value requantized(const RequantizeAttrs& a, Composition& c) {
  const Quantized in = {c.operand(0), c.operand(1), c.operand(2), a.axis};
  const Value scale = c.operand(3), zero = c.operand(4);
  check_quantized(c, in, "data", "input_scale", "input_zero_point");
  c.require(first_of({check_type(scale.type, "output_scale", types::real),
                      check_type(zero.type, "output_zero_point", types::integer),
                      check_granularity(in.stored.shape(), scale.type, "output_scale", a.axis, 0),
                      check_granularity(in.stored.shape(), zero.type, "output_zero_point", a.axis, 0),
                      check_requantized(a.out_dtype)}));
  if (a.rounding != "None" && a.rounding != "UPWARD" && a.rounding != "TONEAREST")
    c.fail(attribute_error(fmt::format("rounding must be \"UPWARD\" or \"TONEAREST\", found \"{}\"", a.rounding)));
  return c.compute(a.out_dtype, in.stored.shape(), {in.stored, in.scale, in.zero, scale, zero},
                   [a](const std::vector<Tensor>& args, Index i) {
                     auto wide = [&](size_t k) { return cast(dtype::f64, parameter_at(args[k], i, a.axis, 0)); };
                     const Expr half = number(dtype::f64, 0.5), x = cast(dtype::f64, args[0](i));
                     const Expr value = (x - wide(2)) * (wide(1) / wide(3)), up = floor(value + half);
                     const bool nearest = a.rounding == "TONEAREST";
                     const Expr rounded = nearest ? select(value < number(dtype::f64, 0), ceil(value - half), up) : up;
                     return cast(a.out_dtype, clipped_to(a.out_dtype, rounded + wide(4)));
                   });
}

// ---- contractions

// The stored numbers less the zero point, as int32. A zero point may vary along `axis`.
Value centred(Composition& c, const Value& stored, const Value& zero, const char* what, int64_t axis) {
  c.require(
      first_of({check_type(stored.type, what, types::integer), check_type(zero.type, "zero_point", types::integer),
                check_granularity(stored.shape(), zero.type, "zero_point", axis, 0)}));
  return c.compute(dtype::i32, stored.shape(), {stored, zero}, [axis](const std::vector<Tensor>& args, Index i) {
    return cast(dtype::i32, args[0](i)) - cast(dtype::i32, parameter_at(args[1], i, axis, 0));
  });
}

// Operands (data, weight, input_zero_point, weight_zero_point, input_scale, weight_scale), the order of TVM's type
// relations; the operators on elements have each scale before its zero point. The scales do not matter for the sums,
// which count in units of their product. `channels`: the weight's axis of output channels.
Value contraction(Composition& c, const std::string& op, const Attrs& attrs, int64_t channels) {
  const Value x = centred(c, c.operand(0), c.operand(2), "data", 0),
              weight = centred(c, c.operand(1), c.operand(3), "weight", channels);
  c.require(first_of({check_type(c.operand(4).type, "input_scale", types::real),
                      check_type(c.operand(5).type, "weight_scale", types::real)}));
  return c.call(op, {x, weight}, attrs);
}

Attrs conv_attributes(const ConvAttrs& a) {
  Attrs attrs = {{"strides", a.strides},      {"padding", a.padding},         {"dilation", a.dilation},
                 {"groups", a.groups},        {"data_layout", a.data_layout}, {"kernel_layout", a.kernel_layout},
                 {"out_layout", a.out_layout}};
  if (a.channels) attrs["channels"] = *a.channels;
  if (a.kernel_size) attrs["kernel_size"] = *a.kernel_size;
  return attrs;
}

struct QuantizedTransposeAttrs : ConvAttrs {
  std::vector<int64_t> output_padding = {0, 0};
};

void add_contractions(OperatorTable& table) {
  auto require_sums = [](const Composition& c, const std::optional<DType>& type) {
    if (type && *type != dtype::i32)
      c.fail(attribute_error(fmt::format("out_dtype must be \"int32\", found \"{}\"", name(*type))));
  };
  const std::vector<std::string> arguments = {"data",        "weight",      "input_zero_point", "weight_zero_point",
                                              "input_scale", "weight_scale"};
  using M = MatmulAttrs;
  table.add(composed<M>({.name = "qnn.dense",
                         .summary = "sum(k) (data[.., k] - its zero point) * (weight[o, k] - its zero point)",
                         .attributes = {{"units", &M::units, "the number of rows of the weight; the weight's if None"},
                                        {"out_dtype", &M::out_dtype, "must be int32"}},
                         .arguments = arguments,
                         .sample_shapes = {{2, 2}, {2, 2}, {}}},
                        [=](const M& a, Composition& c) {
                          require_sums(c, a.out_dtype);
                          return contraction(c, "nn.dense", a.units ? Attrs{{"units", *a.units}} : Attrs{}, 0);
                        }));
  table.add(composed<M>(
      {.name = "qnn.batch_matmul",
       .summary = "the products of matrices, less their zero points",
       .attributes = {{"out_dtype", &M::out_dtype, "must be int32"},
                      {"transpose_a", &M::transpose_a, "x is transposed"},
                      {"transpose_b", &M::transpose_b, "y is transposed"}},
       .arguments = {"x", "y", "x_zero_point", "y_zero_point", "x_scale", "y_scale"},
       .sample_shapes = {{2, 2, 2}, {2, 2, 2}, {}}},
      [=](const M& a, Composition& c) {
        require_sums(c, a.out_dtype);
        return contraction(c, "nn.batch_matmul", {{"transpose_a", a.transpose_a}, {"transpose_b", a.transpose_b}}, 0);
      }));
  using T = QuantizedTransposeAttrs;
  T defaults;
  defaults.strides = defaults.dilation = {1, 1};
  defaults.padding = {0, 0};
  defaults.data_layout = "NCHW";
  for (const bool transpose : {false, true}) {
    defaults.kernel_layout = transpose ? "IOHW" : "OIHW";
    std::vector<Field<T>> fields = {{"strides", &T::strides, "step between windows, per spatial axis"},
                                    {"padding", &T::padding, "elements of value 0 around the data"},
                                    {"dilation", &T::dilation, "step between the taps of a window"},
                                    {"groups", &T::groups, "the number of independent groups of channels"},
                                    {"channels", &T::channels, "number of output channels; the weight's if None"},
                                    {"kernel_size", &T::kernel_size, "taps per spatial axis; the weight's if None"},
                                    {"data_layout", &T::data_layout, "order of the data's axes"},
                                    {"kernel_layout", &T::kernel_layout, "order of the weight's axes"},
                                    {"out_layout", &T::out_layout, "order of the result's axes; the data's if empty"},
                                    {"out_dtype", &T::out_dtype, "must be int32"}};
    if (transpose)
      fields.push_back({"output_padding", &T::output_padding, "elements added at the end of each spatial axis"});
    table.add(composed<T>({.name = transpose ? "qnn.conv2d_transpose" : "qnn.conv2d",
                           .summary = transpose ? "a transposed convolution of data and weight, less their zero points"
                                                : "a convolution of data and weight, less their zero points",
                           .defaults = defaults,
                           .attributes = fields,
                           .arguments = arguments,
                           .sample_shapes = {{1, 2, 4, 4}, {2, 2, 1, 1}, {}}},
                          [=](const T& a, Composition& c) {
                            require_sums(c, a.out_dtype);
                            Attrs attrs = conv_attributes(a);
                            if (transpose) attrs["output_padding"] = a.output_padding;
                            // Without an O the convolution refuses the layout.
                            const size_t channels = std::min(a.kernel_layout.find('O'), a.kernel_layout.size());
                            return contraction(c, transpose ? "nn.conv2d_transpose" : "nn.conv2d", attrs,
                                               static_cast<int64_t>(channels));
                          }));
  }
}

// ---- elementwise operators and poolings

Value binary_of(const BroadcastAttrs& a, Composition& c, const char* op) {
  const Quantized lhs = {c.operand(0), c.operand(2), c.operand(3), a.lhs_axis},
                  rhs = {c.operand(1), c.operand(4), c.operand(5), a.rhs_axis};
  check_quantized(c, lhs, "lhs", "lhs_scale", "lhs_zero_point");
  check_quantized(c, rhs, "rhs", "rhs_scale", "rhs_zero_point");
  c.require(check_same_type(lhs.stored.type, "lhs", rhs.stored.type, "rhs"));
  const Value real = c.call(op, {dequantized(c, lhs), dequantized(c, rhs)});
  return quantized(c, real, c.operand(6), c.operand(7), lhs.stored.dtype());
}

Value hard_swish(Composition& c, const Value& x) {
  const Value gate = c.call("clip", {c.call("add", {x, c.number(dtype::f32, 3)})}, {{"a_min", 0.0}, {"a_max", 6.0}});
  return c.call("divide", {c.call("multiply", {x, gate}), c.number(dtype::f32, 6)});
}

// Operators (data, scale, zero point, output scale, output zero point) of the data's type.
template <class A, class F>
void add_unary(OperatorTable& table, const std::string& name, std::vector<Field<A>> fields, F real,
               const char* prefix = "", std::vector<std::vector<int64_t>> shapes = {{2, 2}, {}}, Attrs sample = {}) {
  const std::string scale = fmt::format("{}scale", prefix), zero = fmt::format("{}zero_point", prefix);
  table.add(composed<A>({.name = "qnn." + name,
                         .summary = name + " of the real numbers",
                         .attributes = std::move(fields),
                         .arguments = {"data", scale.c_str(), zero.c_str(), "output_scale", "output_zero_point"},
                         .sample_shapes = std::move(shapes),
                         .sample_attrs = std::move(sample)},
                        [real](const A& a, Composition& c) {
                          const Quantized x = quantized_operand(c, 0, "data");
                          return quantized(c, real(a, c, dequantized(c, x)), c.operand(3), c.operand(4),
                                           x.stored.dtype());
                        }));
}

struct QuantizedPoolAttrs {
  std::vector<int64_t> pool_size, strides = {1, 1}, dilation = {1, 1}, padding = {0, 0};
  std::string layout = "NCHW", out_layout;
  bool ceil_mode = false, count_include_pad = false;
};

Value average_pool(const QuantizedPoolAttrs& a, Composition& c, const Value& x) {
  return c.call("nn.avg_pool2d", {x},
                {{"pool_size", a.pool_size},
                 {"strides", a.strides},
                 {"dilation", a.dilation},
                 {"padding", a.padding},
                 {"layout", a.layout},
                 {"out_layout", a.out_layout},
                 {"ceil_mode", a.ceil_mode},
                 {"count_include_pad", a.count_include_pad}});
}

void add_elementwise(OperatorTable& table) {
  using B = BroadcastAttrs;
  const std::pair<const char*, const char*> binaries[] = {
      {"add", "add"}, {"subtract", "subtract"}, {"mul", "multiply"}};
  for (const auto& [name, op] : binaries)
    table.add(composed<B>({.name = fmt::format("qnn.{}", name),
                           .summary = fmt::format("{} of the real numbers", op),
                           .attributes = {{"lhs_axis", &B::lhs_axis, "the axis along which lhs_scale varies"},
                                          {"rhs_axis", &B::rhs_axis, "the axis along which rhs_scale varies"}},
                           .arguments = {"lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point",
                                         "output_scale", "output_zero_point"},
                           .sample_shapes = {{2, 2}, {2, 2}, {}}},
                          [op = op](const B& a, Composition& c) { return binary_of(a, c, op); }));
  for (const char* function : {"abs", "erf", "exp", "log", "rsqrt", "sigmoid", "sqrt", "tanh"})
    add_unary<NoAttrs>(table, function, {},
                       [function](const NoAttrs&, Composition& c, const Value& x) { return c.call(function, {x}); });
  add_unary<NoAttrs>(table, "hardswish", {},
                     [](const NoAttrs&, Composition& c, const Value& x) { return hard_swish(c, x); });
  add_unary<QuantizedSoftmaxAttrs>(table, "softmax",
                                   {{"axis", &QuantizedSoftmaxAttrs::axis, "the axis that sums to one"}},
                                   [](const QuantizedSoftmaxAttrs& a, Composition& c, const Value& x) {
                                     return c.call("nn.softmax", {x}, {{"axis", a.axis}});
                                   });
  add_unary<QuantizedLeakyReluAttrs>(
      table, "leaky_relu", {{"alpha", &QuantizedLeakyReluAttrs::alpha, "the slope below zero"}},
      [](const QuantizedLeakyReluAttrs& a, Composition& c, const Value& x) {
        return c.call("nn.leaky_relu", {x}, {{"alpha", a.alpha}});
      },
      "input_");
  using P = QuantizedPoolAttrs;
  add_unary<P>(table, "avg_pool2d",
               {{"pool_size", &P::pool_size, "taps of a window, per spatial axis", true},
                {"strides", &P::strides, "step between windows"},
                {"dilation", &P::dilation, "step between the taps of a window"},
                {"padding", &P::padding, "around the data"},
                {"layout", &P::layout, "order of the data's axes"},
                {"out_layout", &P::out_layout, "order of the result's axes; the data's if empty"},
                {"ceil_mode", &P::ceil_mode, "also count windows that reach beyond the padding"},
                {"count_include_pad", &P::count_include_pad, "divide by the number of taps in data and padding"}},
               average_pool, "input_", {{1, 2, 4, 4}, {}}, {{"pool_size", std::vector<int64_t>{2, 2}}});
}

// ---- operators that have a type only: the element type of simulated quantization is an operand

TypeResult type_of_simulated(const SimulatedAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", types::real), check_type(in[1], "the element type", types::integer),
                         check_rank(in[1], "the element type", 0),
                         check_granularity(in[0].shape, in[2], "the scale", a.axis, 0),
                         check_granularity(in[0].shape, in[3], "the zero point", a.axis, 0)}))
    return *e;
  return tensor_result(in[0].shape, in[0].dtype);
}

// The operands are n tensors, n scales, n zero points, and the scale and the zero point of the result.
TypeResult type_of_quantized_concatenate(const QuantizedConcatenateAttrs& a, const Operands& in) {
  if (in.size() < 5 || (in.size() - 2) % 3 != 0)
    return TypeError{DiagnosticId::wrong_arity, "data, input_scales and input_zero_points must be tuples of one length",
                     ""};
  const Operands data(in.begin(), in.begin() + static_cast<ptrdiff_t>((in.size() - 2) / 3));
  if (auto e = check_type(data[0], "data", types::integer)) return *e;
  return op("concatenate")->type({{"axis", a.axis}}, data);
}

void add_quantized_without_definition(OperatorTable& table) {
  table.add<QuantizedConcatenateAttrs>(
      {.name = "qnn.concatenate",
       .summary = "joins tensors along one axis, with the scale and the zero point of the result",
       .attributes = {{"axis", &QuantizedConcatenateAttrs::axis, "the axis along which the tensors are joined"}},
       .arguments = {"data", "input_scales", "input_zero_points", "output_scale", "output_zero_point"},
       .variadic = true,
       .type = type_of_quantized_concatenate});
  using S = SimulatedAttrs;
  for (const bool output : {true, false}) {
    std::vector<Field<S>> fields = {{"axis", &S::axis, "the axis along which the scale varies"}};
    if (!output) fields.push_back({"out_dtype", &S::out_dtype, "the type of the result, which is that of the data"});
    table.add<S>({.name = output ? "qnn.simulated_quantize" : "qnn.simulated_dequantize",
                  .summary = output ? "qnn.quantize to a type that is known at run time only, as real numbers"
                                    : "qnn.dequantize of a type that is known at run time only, of real numbers",
                  .attributes = fields,
                  .arguments = output ? Names{"data", "out_dtype", "output_scale", "output_zero_point"}
                                      : Names{"data", "in_dtype", "input_scale", "input_zero_point"},
                  .type = type_of_simulated});
  }
}

}  // namespace

void quantized(OperatorTable& table) {
  using R = RequantizeAttrs;
  table.add(composed<R>(
      {.name = "qnn.requantize",
       .summary = "the numbers with another scale and zero point",
       .attributes = {{"axis", &R::axis, "the axis of scales that are not one number"},
                      {"rounding", &R::rounding, "\"UPWARD\" (also if None): halves up; \"TONEAREST\": away from 0"},
                      {"compute_dtype", &R::compute_dtype, "TVM's type of the arithmetic; ignored"},
                      {"out_dtype", &R::out_dtype, "the type of the result"}},
       .arguments = {"data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"},
       .sample_shapes = {{2, 2}, {}}},
      requantized));
  add_contractions(table);
  add_elementwise(table);
  add_quantized_without_definition(table);
}

}  // namespace dlcc::relay::ops
