// nn.upsampling, nn.upsampling3d, image.resize1d, image.resize2d, image.resize3d: image.resize of the spatial axes.
#include <cmath>

#include "relay/op_support/composition.h"
#include "relay/op_support/resampling.h"

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

// The first spatial axis of an image with `axes` spatial axes.
size_t first_spatial_axis(const Composition& c, const std::string& layout, const Value& x, int axes) {
  c.require(check_rank(x.type, "data", axes + 2));
  if (layout == channels_last[axes - 1]) return 1;
  c.require(check_layout("layout", layout, channels_first[axes - 1]));
  return 2;
}

// TVM's names of roundings: "" is that of the coordinates, "round" half away from 0.
std::string rounding_of(const std::string& name, const std::string& coordinates) {
  const std::string chosen = !name.empty() ? name : coordinates == "align_corners" ? "round" : "floor";
  return chosen == "round" ? "round_prefer_ceil" : chosen;
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

Value upsampled(const UpSamplingAttrs& a, Composition& c, int axes) {
  const Value x = c.operand(0);
  if (c.operand_count() > 1)
    c.fail({DiagnosticId::dynamic_shape, "the scales must be known at compile time", "give them as attributes"});
  size_t axis = first_spatial_axis(c, a.layout, x, axes);
  const std::pair<const char*, double> scales[] = {
      {"scale_d", a.scale_d}, {"scale_h", a.scale_h}, {"scale_w", a.scale_w}};
  Shape size = x.shape();
  for (int k = 3 - axes; k < 3; ++k, ++axis) size[axis] = scaled(c, scales[k].first, size[axis], scales[k].second);
  const std::string coordinates = axes == 3         ? a.coordinate_transformation_mode
                                  : a.align_corners ? "align_corners"
                                                    : "asymmetric";
  std::string method = a.method;
  if (method == "bilinear" || method == "trilinear") method = "linear";
  if (method == "bicubic") method = "cubic";
  return c.call("image.resize", {x},
                {{"size", sizes_attribute(size)},
                 {"method", method},
                 {"coordinate_transformation_mode", coordinates},
                 {"rounding_method", rounding_of("", coordinates)},
                 {"cubic_alpha", -0.5}});
}

// ---- resize

Value resized(const ImageResizeAttrs& a, Composition& c, int axes) {
  const Value x = c.operand(0);
  if (c.operand_count() > 1)
    c.fail({DiagnosticId::dynamic_shape, "the size must be known at compile time", "give it as an attribute"});
  const size_t first = first_spatial_axis(c, a.layout, x, axes);
  if (a.coordinate_transformation_mode == "tf_crop_and_resize")
    c.fail({DiagnosticId::unsupported_attribute,
            "coordinate_transformation_mode \"tf_crop_and_resize\" is not supported",
            "use image.resize_crop, whose roi is an operand"});
  if (a.size.size() != static_cast<size_t>(axes))
    c.fail(attribute_error(fmt::format("size must have {} numbers, found {}", axes, a.size.size())));
  const DType type = a.out_dtype.value_or(x.dtype());
  // Interpolated numbers are rounded or truncated once, to the type of the result.
  const bool interpolates = a.method != "nearest_neighbor" && type != x.dtype();
  Shape size = x.shape();
  std::copy(a.size.begin(), a.size.end(), size.begin() + static_cast<ptrdiff_t>(first));
  const Value result = c.call("image.resize", {interpolates ? c.cast(x, sampling_type(x.dtype())) : x},
                              {{"size", sizes_attribute(size)},
                               {"method", a.method},
                               {"coordinate_transformation_mode", a.coordinate_transformation_mode},
                               {"rounding_method", rounding_of(a.rounding_method, a.coordinate_transformation_mode)},
                               {"cubic_alpha", a.cubic_alpha},
                               {"cubic_exclude", a.cubic_exclude}});
  return c.cast(result, type);
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
       .values = {"scale_h", "scale_w"}},
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
                         .values = {"scale_d", "scale_h", "scale_w"}},
                        [](const U& a, Composition& c) { return upsampled(a, c, 3); }));
}

}  // namespace dlcc::relay::ops
