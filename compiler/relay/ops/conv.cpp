// nn.conv1d, nn.conv2d, nn.conv3d: the sum over channels and taps of data times weights, as one stage. Padding is a
// predicated read of `pad_value`. The functions below are about the order NCHW and OIHW of the axes; a layout that
// stores them in another order only changes how a tensor is read or written.
#include "relay/attr_structs.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/windows.h"

namespace dlcc::relay::ops {

namespace {

ConvAttrs conv_defaults(int rank) {
  ConvAttrs a;
  a.strides.assign(rank, 1);
  a.dilation.assign(rank, 1);
  a.padding.assign(rank == 1 ? 2 : rank, 0);
  a.data_layout = channels_first[rank - 1];
  a.kernel_layout = channels_first_kernels[rank - 1];
  return a;
}

DType result_type(const ConvAttrs& a, const Operands& in) { return a.out_dtype.value_or(in[0].dtype); }

const std::string& result_layout(const ConvAttrs& a) { return a.out_layout.empty() ? a.data_layout : a.out_layout; }

Failure check_layouts(const ConvAttrs& a, int rank) {
  return first_of({check_axis_order("data_layout", a.data_layout, channels_first[rank - 1]),
                   check_axis_order("kernel_layout", a.kernel_layout, channels_first_kernels[rank - 1]),
                   check_axis_order("out_layout", result_layout(a), channels_first[rank - 1])});
}

// For layouts that check_layouts accepts.
struct Orders {
  Orders(const ConvAttrs& a, int rank)
      : data(a.data_layout, channels_first[rank - 1]),
        weight(a.kernel_layout, channels_first_kernels[rank - 1]),
        result(result_layout(a), channels_first[rank - 1]) {}
  AxisOrder data, weight, result;
};

Failure check_attributes(const ConvAttrs& a, const Shape& weight) {
  if (auto e = check_positive("groups", {a.groups})) return e;
  if (a.channels && !(weight[0] == Dim(*a.channels)))
    return shape_error(
        fmt::format("channels is {}, but the weight has {} output channels", *a.channels, weight[0].str()));
  Shape taps(weight.begin() + 2, weight.end());
  if (!is_static(taps))
    return TypeError{DiagnosticId::dynamic_shape,
                     fmt::format("the kernel size {} must be known at compile time", str(taps)), ""};
  if (a.kernel_size && *a.kernel_size != static_shape(taps) && *a.kernel_size != std::vector{taps[0].value()})
    return shape_error(
        fmt::format("kernel_size is {}, but the weight has {}", str(dlcc::shape_of(*a.kernel_size)), str(taps)));
  return std::nullopt;
}

Failure check_pad_value(const ConvAttrs& a, DType type) {
  constexpr int64_t largest_half = 65504;
  const int digits = bits(type) - (is_signed(type) ? 1 : 0);  // of an integer
  const bool is_any = digits > 62 || (is_float(type) && type != dtype::f16);
  const int64_t most = is_any ? INT64_MAX : is_float(type) ? largest_half : (int64_t{1} << digits) - 1;
  const int64_t least = is_float(type) ? -most : is_signed(type) ? -most - 1 : 0;
  if (a.pad_value >= least && a.pad_value <= most) return std::nullopt;
  return attribute_error(fmt::format("pad_value is {}, which the type {} does not have", a.pad_value, name(type)));
}

std::string remedy_for_channels(const ConvAttrs& a, const Shape& data, const Shape& weight) {
  const Dim expected = weight[1] * Dim(a.groups);
  if (data.back() == expected && a.data_layout == channels_first[weight.size() - 3])
    return fmt::format("the channels are axis 1; those of the data seem to be the last axis: transpose it to {}",
                       a.data_layout);
  const size_t rank = weight.size() - 2;
  const bool square = std::all_of(weight.begin(), weight.end() - 2, [&](const Dim& d) { return d == weight[0]; });
  if (rank > 1 && square && weight[rank] * Dim(a.groups) == data[1])
    return fmt::format("the weight seems to have its channels after the kernel's axes: transpose it to {}",
                       a.kernel_layout);
  return fmt::format("with groups={} the data must have {} channels", a.groups, expected.str());
}

Failure check_channels(const ConvAttrs& a, const Shape& data, const Shape& weight) {
  Dim expected = weight[1] * Dim(a.groups);
  if (!(data[1] == expected)) {
    TypeError error =
        shape_error(fmt::format("the weight has {} input channels{}, the data has {}", weight[1].str(),
                                a.groups == 1 ? "" : fmt::format(" in each of {} groups", a.groups), data[1].str()),
                    remedy_for_channels(a, data, weight));
    return data.back() == expected ? error : unequal_sizes(std::move(error), data[1], expected);
  }
  if (floor_mod(weight[0], Dim(a.groups)) == Dim(0)) return std::nullopt;
  return shape_error(fmt::format("{} output channels cannot be divided into {} groups", weight[0].str(), a.groups));
}

Checked<std::vector<Window>> windows_of(const ConvAttrs& a, const Shape& weight) {
  return make_windows(static_shape(Shape(weight.begin() + 2, weight.end())), a.strides, a.dilation, a.padding);
}

// The shape of the result; of the batch, the channels and then the spatial axes.
Checked<Shape> convolved_shape(const ConvAttrs& a, const Shape& data, const Shape& weight) {
  if (auto e = check_attributes(a, weight)) return *e;
  if (auto e = check_channels(a, data, weight)) return *e;
  auto windows = windows_of(a, weight);
  if (auto* e = std::get_if<TypeError>(&windows)) return *e;
  Shape shape = {data[0], weight[0]};
  for (size_t k = 2; k < data.size(); ++k) {
    auto count = window_count(data[k], std::get<0>(windows)[k - 2], false, static_cast<int>(k) - 2);
    if (auto* e = std::get_if<TypeError>(&count)) return *e;
    shape.push_back(std::get<Dim>(count));
  }
  return shape;
}

TypeResult type_of_conv(const ConvAttrs& a, const Operands& in, int rank) {
  if (auto e = first_of({check_type(in[0], "data", types::number),
                         check_factors(in[0], "data", in[1], "weight", a.out_dtype),
                         check_rank(in[0], "data", rank + 2), check_rank(in[1], "weight", rank + 2),
                         check_layouts(a, rank), check_type({{}, result_type(a, in)}, "out_dtype", types::number)}))
    return *e;
  if (auto e = check_pad_value(a, in[0].dtype)) return *e;
  const Orders orders(a, rank);
  const auto shape = convolved_shape(a, orders.data.to_own(in[0].shape), orders.weight.to_own(in[1].shape));
  if (auto* e = std::get_if<TypeError>(&shape)) return *e;
  return tensor_result(orders.result.from_own(std::get<Shape>(shape)), result_type(a, in));
}

// The numbers of windows along the spatial axes.
Shape window_counts(const ConvAttrs& a, const Operands& in, int rank) {
  const Shape shape = Orders(a, rank).result.to_own(shape_in(type_of_conv(a, in, rank)));
  return {shape.begin() + 2, shape.end()};
}

TensorFunction define_conv(const ConvAttrs& a, const Operands& in, int rank, const std::string& name) {
  Definition d(name);
  const Tensor x = d.input("data", in[0].dtype, in[0].shape), w = d.input("weight", in[1].dtype, in[1].shape);
  const Orders orders(a, rank);
  const Shape data = orders.data.to_own(x.shape()), weight = orders.weight.to_own(w.shape()),
              stored = shape_in(type_of_conv(a, in, rank)), shape = orders.result.to_own(stored);
  const DType out = result_type(a, in), inner = tensor::compute_type(out);
  const std::vector<Window> windows = std::get<0>(windows_of(a, weight));
  bool inside = true;
  for (int k = 0; k < rank; ++k) inside = inside && always_inside(data[k + 2], shape[k + 2], windows[k], false);

  auto channel = [&](Expr o, Expr r) {  // input channel r of the group of output channel o
    if (a.groups == 1) return r;
    Expr group = floor_div(o, Expr(floor_div(weight[0], Dim(a.groups))));
    return weight[1] == Dim(1) ? group : group * Expr(weight[1]) + r;
  };
  const Shape reduced(weight.begin() + 1, weight.end());
  d.reduce_result("result", out, stored, tensor::sum_of(inner), reduced, [&](Index index, Index r) {
    const std::vector<Expr> i = orders.result.to_own(index);
    std::vector<Expr> at = {i[0], channel(i[1], r[0])}, tap = {i[1]};
    for (int k = 0; k < rank; ++k) at.push_back(windows[k].position(i[k + 2], r[k + 1]));
    tap.insert(tap.end(), r.begin(), r.end());
    at = orders.data.from_own(at);
    Expr value = inside ? x(at) : x.at_or(at, number(tensor::compute_type(x.type()), a.pad_value));
    return cast(inner, value) * cast(inner, w(orders.weight.from_own(tap)));
  });
  return d.finish();
}

void gradient_of_conv(const ConvAttrs& a, CallGradient& g, int rank) {
  const Orders orders(a, rank);
  const DType type = g.gradient().dtype();
  const Term gradient = to_own(orders.result, g.gradient()), data = to_own(orders.data, g.operand(0)).cast_to(type),
             weight = to_own(orders.weight, g.operand(1)).cast_to(type);
  const std::vector<Window> windows = std::get<0>(windows_of(a, weight.shape()));
  if (g.wants(0)) g.add(0, from_own(orders.data, spread_windows(gradient, weight, windows, a.groups, data.shape())));
  if (!g.wants(1)) return;
  if (a.pad_value != 0) g.refuse("the elements around the data are not 0");
  g.add(1, from_own(orders.weight, gradient_of_taps(gradient, data, windows, a.groups)));
}

void add_conv(OperatorTable& table, int rank) {
  using A = ConvAttrs;
  std::string name = fmt::format("nn.conv{}d", rank);
  table.add<A>({
      .name = name,
      .summary = fmt::format("convolution over {} spatial ax{}", rank, rank == 1 ? "is" : "es"),
      .defaults = conv_defaults(rank),
      .attributes = {{"strides", &A::strides, "step between windows, per spatial axis"},
                     {"padding", &A::padding,
                      "elements around the data: one number, one per axis, or all before and then all after"},
                     {"pad_value", &A::pad_value, "the value of the elements around the data, an integer"},
                     {"dilation", &A::dilation, "step between the taps of a window"},
                     {"groups", &A::groups, "the number of independent groups that channels are divided into"},
                     {"channels", &A::channels, "number of output channels; the weight's if None"},
                     {"kernel_size", &A::kernel_size, "taps per spatial axis; the weight's if None"},
                     {"data_layout", &A::data_layout, "order of the data's axes"},
                     {"kernel_layout", &A::kernel_layout, "order of the weight's axes"},
                     {"out_layout", &A::out_layout, "order of the result's axes; the data's if empty"},
                     {"out_dtype", &A::out_dtype, "element type of sums and result; the data's if None"}},
      .arguments = {"data", "weight"},
      .type = [rank](const A& a, const Operands& in) { return type_of_conv(a, in, rank); },
      .compute = [rank, name](const A& a, const Operands& in) { return define_conv(a, in, rank, name); },
      .positive_sizes = [rank](const A& a, const Operands& in) { return window_counts(a, in, rank); },
      .gradient = [rank](const A& a, CallGradient& g) { gradient_of_conv(a, g, rank); },
  });
}

}  // namespace

void conv(OperatorTable& table) {
  for (int rank : {1, 2, 3}) add_conv(table, rank);
}

}  // namespace dlcc::relay::ops
