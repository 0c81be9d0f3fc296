// nn.conv1d_transpose ... 3d, nn.conv2d_backward_weight, nn.deformable_conv2d. A transposed convolution is the
// convolution of the data, with zeros between its elements, with the mirrored weight whose channels are exchanged
// (Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016, section 4).
#include "relay/attr_structs.h"
#include "relay/op_support/axis_order.h"
#include "relay/op_support/composition.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/windows.h"

namespace dlcc::relay::ops {

namespace {

struct ConvTransposeAttrs : ConvAttrs {
  std::vector<int64_t> output_padding;
};
struct DeformableConvAttrs : ConvAttrs {
  int64_t deformable_groups = 1;
};

constexpr const char* transposed_layouts[] = {"IOW", "IOHW", "IODHW"};
// TVM's defaults, by which it means the same order: its definitions read the weight as (in, out, taps).
constexpr const char* layouts_of_tvm[] = {"OIW", "IOHW", "OIDHW"};

template <class A>
A conv_transpose_defaults(int rank, const char* kernel_layout) {
  A a;
  a.strides.assign(rank, 1);
  a.dilation.assign(rank, 1);
  a.padding.assign(rank, 0);
  a.data_layout = channels_first[rank - 1];
  a.kernel_layout = kernel_layout;
  return a;
}

void check_layouts(const ConvAttrs& a, const Composition& c, int rank, const char* kernel_layout) {
  c.require(first_of({check_layout("data_layout", a.data_layout, channels_first[rank - 1]),
                      check_layout("kernel_layout", a.kernel_layout, kernel_layout),
                      check_layout("out_layout", a.out_layout.empty() ? a.data_layout : a.out_layout, a.data_layout),
                      check_positive("groups", {a.groups})}));
}

std::vector<int64_t> known_sizes(const Composition& c, const char* what, const Shape& shape) {
  if (!is_static(shape))
    c.fail({DiagnosticId::dynamic_shape, fmt::format("{} of shape {} must be known at compile time", what, str(shape)),
            ""});
  return static_shape(shape);
}

std::vector<Window> windows_of(const ConvAttrs& a, const Composition& c, const std::vector<int64_t>& taps) {
  if (a.kernel_size && *a.kernel_size != taps)
    c.fail(shape_error(fmt::format("kernel_size is {}, but the weight has {}", str(dlcc::shape_of(*a.kernel_size)),
                                   str(dlcc::shape_of(taps)))));
  auto windows = make_windows(taps, a.strides, a.dilation, a.padding);
  if (auto* e = std::get_if<TypeError>(&windows)) c.fail(*e);
  return std::get<0>(windows);
}

// ---- transposed convolutions

// The order of the weight's axes. In TVM's defaults for one and three spatial axes, O stands for the channels of the
// data and I for those of the result. Other orders of these letters would be ambiguous and are refused.
AxisOrder weight_order(const ConvTransposeAttrs& a, const Composition& c, int rank) {
  const std::string own = transposed_layouts[rank - 1];
  if (a.kernel_layout == layouts_of_tvm[rank - 1]) return {own, own};
  c.require(rank == 2 ? check_axis_order("kernel_layout", a.kernel_layout, own)
                      : check_layout("kernel_layout", a.kernel_layout, own));
  return {a.kernel_layout, own};
}

// The weight (channels of the data, channels of the result in a group, taps) as that of a convolution: mirrored, with
// the channels of the result first.
Value mirrored_weight(Composition& c, const Value& weight, int64_t groups) {
  const Shape& shape = weight.shape();
  const Dim in = floor_div(shape[0], Dim(groups)), out = shape[1];
  Shape split = {groups, in, out}, merged = {out * Dim(groups), in};
  std::vector<int64_t> order = {0, 2, 1};
  Value w = weight;
  for (size_t k = 2; k < shape.size(); ++k) {
    w = c.call("reverse", {w}, {{"axis", static_cast<int64_t>(k)}});
    split.push_back(shape[k]);
    merged.push_back(shape[k]);
    order.push_back(static_cast<int64_t>(k) + 1);
  }
  return c.reshape(c.call("transpose", {c.reshape(w, split)}, {{"axes", order}}), merged);
}

Value conv_transpose(const ConvTransposeAttrs& a, Composition& c, int rank) {
  const Value x = c.operand(0);
  Value weight = c.operand(1);
  const std::string own = channels_first[rank - 1], &out_layout = a.out_layout.empty() ? a.data_layout : a.out_layout;
  c.require(
      first_of({check_type(x.type, "data", types::number),
                check_factors(x.type, "data", weight.type, "weight", a.out_dtype), check_rank(x.type, "data", rank + 2),
                check_rank(weight.type, "weight", rank + 2), check_axis_order("data_layout", a.data_layout, own),
                check_axis_order("out_layout", out_layout, own), check_positive("groups", {a.groups})}));
  const AxisOrder data(a.data_layout, own), kernel = weight_order(a, c, rank);
  if (!kernel.is_own()) weight = c.transpose(weight, kernel.axes());
  const Dim channels = data.to_own(x.shape())[1];
  c.require(check_equal(weight.shape()[0], "the input channels of the weight", channels, "the data's channels"));
  if (!(floor_mod(channels, Dim(a.groups)) == Dim(0)))
    c.fail(shape_error(fmt::format("{} channels cannot be divided into {} groups", channels.str(), a.groups)));
  if (a.channels && !(weight.shape()[1] * Dim(a.groups) == Dim(*a.channels)))
    c.fail(shape_error(fmt::format("channels is {}, but the weight has {} output channels", *a.channels,
                                   (weight.shape()[1] * Dim(a.groups)).str())));
  const std::vector<Window> windows =
      windows_of(a, c, known_sizes(c, "the taps", Shape(weight.shape().begin() + 2, weight.shape().end())));
  if (a.output_padding.size() != 1 && a.output_padding.size() != windows.size())
    c.fail(
        attribute_error(fmt::format("output_padding must have {} numbers, found {}", rank, a.output_padding.size())));
  const std::vector<int64_t> none = {0, 0};
  std::vector<int64_t> strides = {1, 1};
  AttrList widths = {none, none};  // like the strides, of the batch, the channels and the spatial axes
  for (size_t k = 0; k < windows.size(); ++k) {
    const Window& w = windows[k];
    const int64_t more = a.output_padding[a.output_padding.size() == 1 ? 0 : k];
    if (more < 0 || (more >= w.stride && more >= w.dilation))
      c.fail(attribute_error(
          fmt::format("output_padding must be less than the stride, found {} for stride {}", more, w.stride)));
    strides.push_back(w.stride);
    widths.emplace_back(std::vector<int64_t>{w.dilated_size() - 1 - w.before, w.dilated_size() - 1 - w.after + more});
  }
  const Value spread = c.call("nn.dilate", {x}, {{"strides", data.from_own(strides)}});
  const Value padded = c.call("nn.pad", {spread, c.number(x.dtype(), 0)}, {{"pad_width", data.from_own(widths)}});
  Attrs conv = {{"groups", a.groups},
                {"dilation", a.dilation},
                {"padding", std::vector<int64_t>{0}},
                {"data_layout", a.data_layout},
                {"out_layout", out_layout}};
  if (a.out_dtype) conv["out_dtype"] = std::string(name(*a.out_dtype));
  return c.call(fmt::format("nn.conv{}d", rank), {padded, mirrored_weight(c, weight, a.groups)}, conv);
}

// The data and the result have changed places with those of a convolution.
void gradient_of_conv_transpose(const ConvTransposeAttrs& a, CallGradient& g, int rank) {
  Composition c({g.operands()[0].type, g.operands()[1].type});
  const std::string own = channels_first[rank - 1], &out_layout = a.out_layout.empty() ? a.data_layout : a.out_layout;
  const AxisOrder data(a.data_layout, own), result(out_layout, own), kernel = weight_order(a, c, rank);
  const DType type = g.gradient().dtype();
  const Term gradient = to_own(result, g.gradient()), x = to_own(data, g.operand(0)).cast_to(type),
             weight = to_own(kernel, g.operand(1)).cast_to(type);
  const std::vector<Window> windows =
      windows_of(a, c, static_shape(Shape(weight.shape().begin() + 2, weight.shape().end())));
  if (g.wants(0)) {
    Attrs attrs = {{"strides", a.strides}, {"padding", a.padding}, {"dilation", a.dilation}, {"groups", a.groups}};
    g.add(0, from_own(data, g.code().call(fmt::format("nn.conv{}d", rank), {gradient, weight}, attrs)));
  }
  if (g.wants(1)) g.add(1, from_own(kernel, gradient_of_taps(x, gradient, windows, a.groups)));
}

// ---- the gradient of the weight

// grad (N, O, windows) and data (N, I, pixels) give the weight (O, I / groups, taps): each tap is the sum over the
// batch and the windows of the gradient times the element that the tap reads.
Value backward_weight(const ConvAttrs& a, Composition& c) {
  const Value grad = c.operand(0), x = c.operand(1);
  c.require(first_of({check_type(x.type, "data", types::real), check_same_type(x.type, "data", grad.type, "grad"),
                      check_rank(x.type, "data", 4), check_rank(grad.type, "grad", 4)}));
  c.require(check_equal(grad.shape()[0], "the batch of grad", x.shape()[0], "that of the data"));
  check_layouts(a, c, 2, "OIHW");
  if (!a.kernel_size || a.kernel_size->size() != 2) c.fail(attribute_error("kernel_size must have 2 numbers"));
  const std::vector<Window> windows = windows_of(a, c, *a.kernel_size);
  for (int k = 0; k < 2; ++k) {
    const auto count = window_count(x.shape()[k + 2], windows[k], false, k);
    if (auto* e = std::get_if<TypeError>(&count)) c.fail(*e);
    c.require(check_equal(grad.shape()[k + 2], fmt::format("spatial axis {} of grad", k), std::get<Dim>(count),
                          "the number of windows"));
  }
  const Dim out = grad.shape()[1], in = floor_div(x.shape()[1], Dim(a.groups)), group = floor_div(out, Dim(a.groups));
  if (!(in * Dim(a.groups) == x.shape()[1]) || !(group * Dim(a.groups) == out))
    c.fail(shape_error(
        fmt::format("{} and {} channels cannot be divided into {} groups", x.shape()[1].str(), out.str(), a.groups)));
  const DType type = a.out_dtype.value_or(x.dtype());
  const DType inner = tensor::compute_type(type);
  return c.sum(type, {out, in, windows[0].size, windows[1].size}, {grad.shape()[0], grad.shape()[2], grad.shape()[3]},
               {grad, x}, [=](const std::vector<Tensor>& args, Index i, Index r) {
                 const Expr channel = floor_div(i[0], Expr(group)) * Expr(in) + i[1];
                 const Expr element =
                     args[1].at_or({r[0], channel, windows[0].position(r[1], i[2]), windows[1].position(r[2], i[3])},
                                   number(tensor::compute_type(args[1].type()), 0));
                 return cast(inner, args[0](r[0], i[0], r[1], r[2])) * cast(inner, element);
               });
}

// The result is linear in both operands, as the convolution of the data by the weight is.
void gradient_of_backward_weight(const ConvAttrs& a, CallGradient& g) {
  Composition c({g.operands()[0].type, g.operands()[1].type});
  const DType type = g.gradient().dtype();
  const Term weight = g.gradient(), grad = g.operand(0).cast_to(type), x = g.operand(1).cast_to(type);
  if (g.wants(0))
    g.add(0, g.code().call(
                 "nn.conv2d", {x, weight},
                 {{"strides", a.strides}, {"padding", a.padding}, {"dilation", a.dilation}, {"groups", a.groups}}));
  if (g.wants(1)) g.add(1, spread_windows(grad, weight, windows_of(a, c, *a.kernel_size), a.groups, x.shape()));
}

// ---- deformable convolution

Value deformable_conv(const DeformableConvAttrs& a, Composition& c) {
  const Value x = c.operand(0), offset = c.operand(1), weight = c.operand(2);
  c.require(
      first_of({check_type(x.type, "data", types::real), check_same_type(x.type, "data", weight.type, "weight"),
                check_rank(x.type, "data", 4), check_rank(offset.type, "offset", 4),
                check_rank(weight.type, "weight", 4), check_positive("deformable_groups", {a.deformable_groups})}));
  check_layouts(a, c, 2, "OIHW");
  const std::vector<int64_t> taps = known_sizes(c, "the taps", Shape(weight.shape().begin() + 2, weight.shape().end()));
  windows_of(a, c, taps);
  const int64_t positions = taps[0] * taps[1];
  const Shape& places = offset.shape();
  const Value mask =
      c.call("ones", {},
             {{"shape", sizes_attribute({places[0], positions * a.deformable_groups, places[2], places[3]})},
              {"dtype", std::string(name(x.dtype()))}});
  const Value columns = c.call("nn.deformable_im2col", {x, offset, mask},
                               {{"kernel_size", taps},
                                {"strides", a.strides},
                                {"padding", a.padding},
                                {"dilation", a.dilation},
                                {"deformable_groups", a.deformable_groups}});
  const Value flat = c.reshape(weight, {weight.shape()[0], weight.shape()[1] * Dim(positions), 1, 1});
  Attrs conv = {{"groups", a.groups}};
  if (a.out_dtype) conv["out_dtype"] = std::string(name(*a.out_dtype));
  return c.call("nn.conv2d", {columns, flat}, conv);
}

template <class A>
std::vector<Field<A>> conv_fields() {
  return {{"strides", &A::strides, "step between windows, per spatial axis"},
          {"padding", &A::padding, "zeros around the data: one number, one per axis, or all before and then all after"},
          {"dilation", &A::dilation, "step between the taps of a window"},
          {"groups", &A::groups, "the number of independent groups that channels are divided into"},
          {"channels", &A::channels, "number of output channels; the weight's if None"},
          {"kernel_size", &A::kernel_size, "taps per spatial axis; the weight's if None"},
          {"data_layout", &A::data_layout, "order of the data's axes"},
          {"kernel_layout", &A::kernel_layout, "order of the weight's axes"},
          {"out_layout", &A::out_layout, "order of the result's axes; the data's if empty"},
          {"out_dtype", &A::out_dtype, "element type of sums and result; the data's if None"}};
}

void add_transpose(OperatorTable& table, int rank) {
  using A = ConvTransposeAttrs;
  A defaults = conv_transpose_defaults<A>(rank, transposed_layouts[rank - 1]);
  defaults.output_padding.assign(rank, 0);
  std::vector<Field<A>> fields = conv_fields<A>();
  fields.push_back(
      {"output_padding", &A::output_padding, "elements added at the end of each spatial axis of the result"});
  std::vector<int64_t> data(static_cast<size_t>(rank) + 2, 2);
  table.add(composed<A>(
      {.name = fmt::format("nn.conv{}d_transpose", rank),
       .summary = fmt::format("the transpose of a convolution over {} spatial ax{}", rank, rank == 1 ? "is" : "es"),
       .defaults = defaults,
       .attributes = fields,
       .arguments = {"data", "weight"},
       .gradient = [rank](const A& a, CallGradient& g) { gradient_of_conv_transpose(a, g, rank); },
       .sample_shapes = {data, data}},
      [rank](const A& a, Composition& c) { return conv_transpose(a, c, rank); }));
}

}  // namespace

void conv_transpose(OperatorTable& table) {
  for (int rank : {1, 2, 3}) add_transpose(table, rank);
  table.add(composed<ConvAttrs>({.name = "nn.conv2d_backward_weight",
                                 .summary = "the gradient of the weight of a convolution",
                                 .defaults = conv_transpose_defaults<ConvAttrs>(2, "OIHW"),
                                 .attributes = conv_fields<ConvAttrs>(),
                                 .arguments = {"grad", "data"},
                                 .gradient = gradient_of_backward_weight,
                                 .sample_shapes = {{1, 2, 3, 3}, {1, 2, 4, 4}},
                                 .sample_attrs = {{"kernel_size", std::vector<int64_t>{2, 2}}}},
                                backward_weight));
  using D = DeformableConvAttrs;
  std::vector<Field<D>> fields = conv_fields<D>();
  fields.push_back({"deformable_groups", &D::deformable_groups, "groups of channels that share their offsets"});
  table.add(composed<D>({.name = "nn.deformable_conv2d",
                         .summary = "a convolution whose taps are moved by offsets (y, x) of their own",
                         .defaults = conv_transpose_defaults<D>(2, "OIHW"),
                         .attributes = fields,
                         .arguments = {"data", "offset", "weight"},
                         .sample_shapes = {{1, 2, 4, 4}, {1, 8, 3, 3}, {2, 2, 2, 2}}},
                        deformable_conv));
}

}  // namespace dlcc::relay::ops
