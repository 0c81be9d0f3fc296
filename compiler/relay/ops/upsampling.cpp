// nn.upsampling, nn.upsampling3d, image.resize1d, image.resize2d, image.resize3d: image.resize of the spatial axes.
#include <algorithm>
#include <cmath>

#include "relay/op_support/composition.h"
#include "relay/op_support/resampling.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct UpSamplingAttrs {
  double scale_d = 1, scale_h = 1, scale_w = 1;
  std::string layout = "NCHW", method = "nearest_neighbor", coordinate_transformation_mode = "half_pixel";
  bool align_corners = false;
};
struct ImageResizeAttrs {
  std::vector<Dim> size;
  AttrValue roi;
  std::string layout, method = "linear", coordinate_transformation_mode = "half_pixel", rounding_method = "round";
  double cubic_alpha = -0.5;
  bool cubic_exclude = false;
  double extrapolation_value = 0;
  std::optional<DType> out_dtype;
};

size_t first_spatial_axis(const std::string& layout) { return layout[1] == 'C' ? 2 : 1; }

// The first spatial axis of an image with `axes` spatial axes.
size_t first_spatial_axis(const Composition& c, const std::string& layout, const Value& x, int axes) {
  c.require(check_rank(x.type, "data", axes + 2));
  if (layout != channels_last[axes - 1]) c.require(check_layout("layout", layout, channels_first[axes - 1]));
  return first_spatial_axis(layout);
}

// TVM's names of roundings: "" is that of the coordinates, "round" half away from 0.
std::string rounding_of(const std::string& name, const std::string& coordinates) {
  const std::string chosen = !name.empty() ? name : coordinates == "align_corners" ? "round" : "floor";
  return chosen == "round" ? "round_prefer_ceil" : chosen;
}

// The vector of these sizes, for an operand of image.resize.
Value list_of(Composition& c, const std::vector<Value>& args,
              const std::function<std::vector<Expr>(const std::vector<Tensor>&)>& sizes, int count) {
  return c.compute(dtype::i64, {count}, args, [sizes](const std::vector<Tensor>& tensors, Index i) {
    return tensor::element_at(sizes(tensors), i[0]);
  });
}

// ---- upsampling

Dim scaled(const Composition& c, const char* attribute, const Dim& size, double scale) {
  if (!(scale > 0) || scale > 0x1p31)
    c.fail(attribute_error(fmt::format("{} must be positive and at most 2^31, found {}", attribute, scale)));
  if (scale == std::floor(scale)) return size * Dim(static_cast<int64_t>(scale));
  if (!size.is_constant())
    c.fail({DiagnosticId::dynamic_shape,
            fmt::format("{} is {}, which is not integral, of an axis of unknown size {}", attribute, scale, size.str()),
            "give the size with --dim NAME=VALUE"});
  return static_cast<int64_t>(std::round(static_cast<double>(size.value()) * scale));
}

// The size of an axis of this size by a ratio that is an operand; negative for one that is no positive number or makes
// the axis too long.
Expr scaled_at_run_time(const Dim& size, const Tensor& scale) {
  auto c = [](double value) { return number(dtype::f64, value); };
  const Expr ratio = cast(dtype::f64, scalar(scale)), rounded = floor(cast(dtype::f64, Expr(size)) * ratio + c(0.5));
  const Expr is_valid = logical_and(ratio > c(0), rounded <= c(0x1p31));
  return select(is_valid, cast(dtype::i64, select(is_valid, rounded, c(0))), Expr(-1));
}

// The sizes of the axes of the result, whose scales are operands.
std::vector<Expr> scaled_sizes(const Shape& data, size_t first, const std::vector<Tensor>& scales) {
  std::vector<Expr> sizes(data.begin(), data.end());
  for (size_t k = 0; k < scales.size(); ++k) sizes[first + k] = scaled_at_run_time(data[first + k], scales[k]);
  return sizes;
}

std::vector<Expr> sizes_of_upsampling(const UpSamplingAttrs& a, const Operands& in, const std::vector<Tensor>& scales,
                                      Definition&) {
  return scaled_sizes(in[0].shape, first_spatial_axis(a.layout), scales);
}

Value upsampled(const UpSamplingAttrs& a, Composition& c, int axes) {
  const Value x = c.operand(0);
  const size_t first = first_spatial_axis(c, a.layout, x, axes);
  const std::pair<const char*, double> scales[] = {
      {"scale_d", a.scale_d}, {"scale_h", a.scale_h}, {"scale_w", a.scale_w}};
  const bool by_operands = c.operand_count() > 1;
  std::vector<Value> ratios;
  Shape size = x.shape();
  for (int k = 3 - axes; k < 3; ++k) {
    const auto& [name, scale] = scales[k];
    Dim& extent = size[first + static_cast<size_t>(k - (3 - axes))];
    if (!by_operands) {
      extent = scaled(c, name, extent, scale);
      continue;
    }
    extent = unknown_dim();
    ratios.push_back(c.operand(1 + ratios.size()));
    c.require(first_of({check_type(ratios.back().type, name, types::real), check_rank(ratios.back().type, name, 0)}));
  }
  const std::string coordinates = axes == 3         ? a.coordinate_transformation_mode
                                  : a.align_corners ? "align_corners"
                                                    : "asymmetric";
  std::string method = a.method;
  if (method == "bilinear" || method == "trilinear") method = "linear";
  if (method == "bicubic") method = "cubic";
  Attrs attrs = {{"method", method},
                 {"coordinate_transformation_mode", coordinates},
                 {"rounding_method", rounding_of("", coordinates)},
                 {"cubic_alpha", -0.5}};
  auto sizes = [=, data = x.shape()](const std::vector<Tensor>& args) { return scaled_sizes(data, first, args); };
  if (by_operands) return c.call_as("image.resize", {x, list_of(c, ratios, sizes, x.rank())}, attrs, size);
  attrs.emplace("size", sizes_attribute(size));
  return c.call("image.resize", {x}, attrs);
}

// ---- resize

// The sizes of the axes of the result, those of the spatial ones being an operand.
std::vector<Expr> resized_sizes(const Shape& data, size_t first, const Tensor& spatial) {
  std::vector<Expr> sizes(data.begin(), data.end());
  std::ranges::copy(elements_of(spatial), sizes.begin() + static_cast<ptrdiff_t>(first));
  return sizes;
}

std::vector<Expr> sizes_of_resize(const ImageResizeAttrs& a, const Operands& in, const std::vector<Tensor>& values,
                                  Definition&) {
  return resized_sizes(in[0].shape, first_spatial_axis(a.layout), values[0]);
}

Value resized(const ImageResizeAttrs& a, Composition& c, int axes) {
  const Value x = c.operand(0);
  const size_t first = first_spatial_axis(c, a.layout, x, axes);
  if (a.coordinate_transformation_mode == "tf_crop_and_resize")
    c.fail({DiagnosticId::unsupported_attribute,
            "coordinate_transformation_mode \"tf_crop_and_resize\" is not supported",
            "use image.resize_crop, whose roi is an operand"});
  Checked<PartialList> sizes = list_value(c.operands(), 1, a.size, "size");
  if (auto* e = std::get_if<TypeError>(&sizes)) c.fail(*e);
  const PartialList& spatial = std::get<PartialList>(sizes);
  if (spatial.size() != static_cast<size_t>(axes))
    c.fail(attribute_error(fmt::format("size must have {} numbers, found {}", axes, spatial.size())));
  const DType type = a.out_dtype.value_or(x.dtype());
  // Interpolated numbers are rounded or truncated once, to the type of the result.
  const bool interpolates = a.method != "nearest_neighbor" && type != x.dtype();
  Shape size = x.shape();
  for (size_t k = 0; k < spatial.size(); ++k) size[first + k] = spatial[k].value_or(unknown_dim());
  const Value data = interpolates ? c.cast(x, sampling_type(x.dtype())) : x;
  Attrs attrs = {{"method", a.method},
                 {"coordinate_transformation_mode", a.coordinate_transformation_mode},
                 {"rounding_method", rounding_of(a.rounding_method, a.coordinate_transformation_mode)},
                 {"cubic_alpha", a.cubic_alpha},
                 {"cubic_exclude", a.cubic_exclude}};
  if (c.operand_count() == 1) {
    attrs.emplace("size", sizes_attribute(size));
    return c.cast(c.call("image.resize", {data}, attrs), type);
  }
  auto all_sizes = [=, shape = x.shape()](const std::vector<Tensor>& args) {
    return resized_sizes(shape, first, args[0]);
  };
  return c.cast(c.call_as("image.resize", {data, list_of(c, {c.operand(1)}, all_sizes, x.rank())}, attrs, size), type);
}

void add_resize(OperatorTable& table, int axes) {
  using A = ImageResizeAttrs;
  A defaults;
  defaults.layout = channels_first[axes - 1];
  table.add(composed<A>(
      {.name = fmt::format("image.resize{}d", axes),
       .summary = fmt::format("resamples {} spatial ax{}", axes, axes == 1 ? "is" : "es"),
       .defaults = defaults,
       .attributes =
           {{"size", &A::size, "the sizes of the spatial axes", true},
            {"roi", &A::roi, "the box of the mode tf_crop_and_resize, which is not supported; ignored"},
            {"layout", &A::layout, "order of the data's axes: channels before the spatial axes or behind them"},
            {"method", &A::method, "\"nearest_neighbor\", \"linear\" or \"cubic\""},
            {"coordinate_transformation_mode", &A::coordinate_transformation_mode,
             "the position in the data of a result's element, as ONNX names it"},
            {"rounding_method", &A::rounding_method,
             "for the nearest neighbour: \"round\", \"round_prefer_floor\", \"round_prefer_ceil\", \"floor\" or "
             "\"ceil\"; \"\": \"round\" with align_corners, else \"floor\""},
            {"cubic_alpha", &A::cubic_alpha, "the parameter of the cubic kernel"},
            {"cubic_exclude", &A::cubic_exclude,
             "elements outside of the data have no weight; else they are the edge's"},
            {"extrapolation_value", &A::extrapolation_value, "the value outside of a box; ignored"},
            {"out_dtype", &A::out_dtype, "the result's element type; the data's if None"}},
       .arguments = {"data"},
       .values = {"size"},
       .sizes = sizes_of_resize,
       .sample_shapes = {std::vector<int64_t>(static_cast<size_t>(axes) + 2, 2)},
       .sample_attrs = {{"size", std::vector<int64_t>(static_cast<size_t>(axes), 4)}}},
      [axes](const A& a, Composition& c) { return resized(a, c, axes); }));
}

}  // namespace

void upsampling(OperatorTable& table) {
  for (int axes : {1, 2, 3}) add_resize(table, axes);
  using U = UpSamplingAttrs;
  table.add(composed<U>(
      {.name = "nn.upsampling",
       .summary = "an image of more pixels",
       .attributes = {{"scale_h", &U::scale_h, "the ratio of the numbers of rows", true},
                      {"scale_w", &U::scale_w, "the ratio of the numbers of columns", true},
                      {"layout", &U::layout, "order of the data's axes: NCHW or NHWC"},
                      {"method", &U::method, "\"nearest_neighbor\", \"bilinear\" or \"bicubic\""},
                      {"align_corners", &U::align_corners, "the first and the last pixels stay at their positions"}},
       .arguments = {"data"},
       .values = {"scale_h", "scale_w"},
       .sizes = sizes_of_upsampling},
      [](const U& a, Composition& c) { return upsampled(a, c, 2); }));
  U defaults;
  defaults.layout = "NCDHW";
  table.add(composed<U>({.name = "nn.upsampling3d",
                         .summary = "a volume of more elements",
                         .defaults = defaults,
                         .attributes = {{"scale_d", &U::scale_d, "the ratio of the depths", true},
                                        {"scale_h", &U::scale_h, "the ratio of the numbers of rows", true},
                                        {"scale_w", &U::scale_w, "the ratio of the numbers of columns", true},
                                        {"layout", &U::layout, "order of the data's axes: NCDHW or NDHWC"},
                                        {"method", &U::method, "\"nearest_neighbor\" or \"trilinear\""},
                                        {"coordinate_transformation_mode", &U::coordinate_transformation_mode,
                                         "the position in the data of a result's element, as ONNX names it"}},
                         .arguments = {"data"},
                         .values = {"scale_d", "scale_h", "scale_w"},
                         .sizes = sizes_of_upsampling},
                        [](const U& a, Composition& c) { return upsampled(a, c, 3); }));
}

}  // namespace dlcc::relay::ops
