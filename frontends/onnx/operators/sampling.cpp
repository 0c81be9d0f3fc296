// Operators that read images at computed positions: GridSample, AffineGrid, RoiAlign, MaxRoiPool, DeformConv.
#include "frontends/onnx/operators/axes.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/operators/windows.h"

namespace dlcc::frontends::onnx {
namespace {

Values convert_grid_sample(Node& n) {
  std::string mode = n.text("mode", n.opset() >= 20 ? "linear" : "bilinear");
  if (mode == "linear") mode = "bilinear";  // the names since operator set 20
  if (mode == "cubic") mode = "bicubic";
  if (!n.check(n.in(1).rank() >= 3, DiagnosticId::shape_mismatch, "grid must have at least 3 axes")) return {};
  return {n.call("image.grid_sample", {n.in(0), with_axis_moved(n, n.in(1), n.in(1).rank() - 1, 1)},
                 {{"method", mode},
                  {"padding_mode", n.text("padding_mode", "zeros")},
                  {"align_corners", n.flag("align_corners", false)}})};
}

Values convert_affine_grid(Node& n) {
  const Value &theta = n.in(0), &size = n.in(1);
  const bool align = n.flag("align_corners", false);
  auto rank = size.rank() == 1 ? size.type.shape[0].constant() : std::nullopt;
  if (!n.check(rank && (*rank == 4 || *rank == 5), DiagnosticId::shape_mismatch,
               fmt::format("size must have 4 or 5 numbers, found {}", describe(size.type))))
    return {};
  return {n.call("image.affine_grid", {theta, slice_of(n, size, 2, *rank)},
                 {{"align_corners", align}, {"components_last", true}})};
}

Values convert_roi_align(Node& n) {
  const std::string mode =
      n.text("coordinate_transformation_mode", n.opset() >= 16 ? "half_pixel" : "output_half_pixel");
  n.check(mode == "half_pixel" || mode == "output_half_pixel", DiagnosticId::bad_attribute,
          fmt::format("coordinate_transformation_mode is '{}'", mode), "it is half_pixel or output_half_pixel");
  const std::string reduction = n.text("mode", "avg");
  return {n.call("vision.roi_align_indexed", {n.in(0), n.in(1), n.in(2)},
                 {{"pooled_size", relay::AttrList{n.integer("output_height", 1), n.integer("output_width", 1)}},
                  {"spatial_scale", n.number("spatial_scale", 1)},
                  {"sample_ratio", n.integer("sampling_ratio", 0)},
                  {"aligned", mode == "half_pixel"},
                  {"mode", reduction == "max" ? "max_corner" : reduction}})};
}

Values convert_max_roi_pool(Node& n) {
  n.check(n.has_attr("pooled_shape"), DiagnosticId::bad_attribute, "attribute 'pooled_shape' is missing");
  return {n.call("vision.roi_pool", {n.in(0), n.in(1)},
                 {{"pooled_size", n.integers("pooled_shape", 2, 1)}, {"spatial_scale", n.number("spatial_scale", 1)}})};
}

// A 1×1 convolution of the taps of windows, which offsets move.
Values convert_deform_conv(Node& n) {
  const Value &x = n.in(0), &weight = n.in(1), &offset = n.in(2);
  if (!n.check(x.rank() == 4 && weight.rank() == 4 && offset.rank() == 4, DiagnosticId::shape_mismatch,
               "X, W and offset must have 4 axes") ||
      !n.check(is_static(weight.type.shape), DiagnosticId::dynamic_shape, "the sizes of W must be known"))
    return {};
  const std::vector<int64_t> shape = static_shape(weight.type.shape);
  const std::vector<int64_t> taps(shape.begin() + 2, shape.end());
  check_kernel_shape(n, weight, taps);
  const int64_t positions = taps[0] * taps[1], offset_groups = n.integer("offset_group", 1);
  const Shape& of_offset = offset.type.shape;
  const Dim masked = Dim(positions) * Dim(offset_groups);
  if (!n.check(offset_groups >= 1 && !masked.is_overflow(), DiagnosticId::bad_attribute,
               fmt::format("offset_group is {}", offset_groups), "it must divide the number of channels of X"))
    return {};
  Value mask = n.has(4)
                   ? n.in(4)
                   : n.call("full", {n.scalar(x.type.dtype, 1)},
                            {{"shape", relay::sizes_attribute({of_offset[0], masked, of_offset[2], of_offset[3]})}});
  Value columns = n.call("nn.deformable_im2col", {x, offset, mask},
                         {{"kernel_size", taps},
                          {"strides", n.integers("strides", 2, 1)},
                          {"padding", n.integers("pads", 4, 0)},
                          {"dilation", n.integers("dilations", 2, 1)},
                          {"deformable_groups", offset_groups}});
  Value flat = n.reshape(weight, {shape[0], shape[1] * positions, 1, 1});
  Value result =
      n.call("nn.conv2d", {columns, flat},
             {{"groups", n.integer("group", 1)}, {"channels", shape[0]}, {"kernel_size", relay::AttrList{1, 1}}});
  if (n.has(3)) result = n.call("nn.bias_add", {result, n.in(3)}, {{"axis", 1}});
  return {result};
}

}  // namespace

void add_sampling(Table& table) {
  table.add({
      {"GridSample", 16, "X grid", 2, 2, 1, bools_as(dtype::f32, convert_grid_sample)},
      {"com.microsoft.GridSample", 1, "X Grid", 2, 2, 1, convert_grid_sample},
      {"AffineGrid", 20, "theta size", 2, 2, 1, convert_affine_grid},
      {"RoiAlign", 10, "X rois batch_indices", 3, 3, 1, convert_roi_align},
      {"MaxRoiPool", 1, "X rois", 2, 2, 1, convert_max_roi_pool},
      {"DeformConv", 19, "X W offset B mask", 3, 5, 1, convert_deform_conv},
  });
  table.only_if("DeformConv", "there are two spatial axes, and the sizes of W are known at compile time");
}

}  // namespace dlcc::frontends::onnx
