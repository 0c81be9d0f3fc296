// vision.multibox_prior, vision.all_class_non_max_suppression, and operators of detection networks that have a type
// only: vision.multibox_transform_loc, vision.get_valid_counts, vision.non_max_suppression,
// vision.regular_non_max_suppression, vision.proposal.
#include <cmath>

#include "relay/op_support/composition.h"

namespace dlcc::relay::ops {

namespace {

struct PriorAttrs {
  std::vector<double> sizes = {1}, ratios = {1}, steps = {-1, -1}, offsets = {0.5, 0.5};
  bool clip = false;
};
struct TransformLocAttrs {
  bool clip = true;
  double threshold = 0.01;
  std::vector<double> variances = {0.1, 0.1, 0.2, 0.2};
  bool keep_background = false;
};
struct ValidCountsAttrs {
  int64_t id_index = 0, score_index = 1;
};
struct AllClassAttrs {
  std::string output_format = "onnx";
};
struct SuppressionAttrs {
  bool force_suppress = false;
  int64_t top_k = -1, coord_start = 2, score_index = 1, id_index = 0;
  bool return_indices = true, invalid_to_bottom = false;
};
struct RegularAttrs {
  int64_t max_detections_per_class = 0, max_detections = 0, num_classes = 0;
  double iou_threshold = 0, score_threshold = 0;
};
struct ProposalAttrs {
  std::vector<double> scales = {4, 8, 16, 32}, ratios = {0.5, 1, 2};
  int64_t feature_stride = 16;
  double threshold = 0.7;
  int64_t rpn_pre_nms_top_n = 6000, rpn_post_nms_top_n = 300, rpn_min_size = 16;
  bool iou_loss = false;
};

// ---- multibox_prior (Liu et al., "SSD: Single Shot MultiBox Detector", ECCV 2016, section 2.2)

// The halves of a box's sizes, in units of the image's: squares of all sizes, then the first size with the ratios but
// the first. Widths are in units of the height and are scaled for images that are not square.
struct HalfSizes {
  double width, height;
};
std::vector<HalfSizes> half_sizes(const PriorAttrs& a) {
  std::vector<HalfSizes> boxes;
  for (double size : a.sizes) boxes.push_back({size / 2, size / 2});
  for (size_t k = 1; k < a.ratios.size(); ++k)
    boxes.push_back({a.sizes[0] * std::sqrt(a.ratios[k]) / 2, a.sizes[0] / std::sqrt(a.ratios[k]) / 2});
  return boxes;
}

Value multibox_prior(const PriorAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  c.require(first_of({check_type(x.type, "data", types::real), check_rank(x.type, "data", 4)}));
  if (a.sizes.empty() || a.ratios.empty() || a.steps.size() != 2 || a.offsets.size() != 2)
    c.fail(attribute_error("sizes and ratios must not be empty; steps and offsets must have 2 numbers"));
  const std::vector<HalfSizes> boxes = half_sizes(a);
  const auto count = static_cast<int64_t>(boxes.size());
  const Dim rows = x.shape()[2], columns = x.shape()[3];
  const DType type = tensor::compute_type(x.dtype());
  return c.compute(x.dtype(), {1, rows * columns * Dim(count), 4}, {x}, [=](const std::vector<Tensor>&, Index i) {
    auto number_of = [&](double value) { return number(type, value); };
    const Expr box = floor_mod(i[1], Expr(count)), pixel = floor_div(i[1], Expr(count));
    const Expr height = cast(type, Expr(rows)), width = cast(type, Expr(columns));
    Expr half_width = number_of(boxes[0].width), half_height = number_of(boxes[0].height);
    for (size_t k = 1; k < boxes.size(); ++k) {
      const Expr is_box = equal(box, Expr(static_cast<int64_t>(k)));
      half_width = select(is_box, number_of(boxes[k].width), half_width);
      half_height = select(is_box, number_of(boxes[k].height), half_height);
    }
    half_width = half_width * height / width;
    auto center = [&](const Expr& at, size_t axis, const Expr& extent) {
      const Expr step = a.steps[axis] > 0 ? number_of(a.steps[axis]) : number_of(1) / extent;
      return (cast(type, at) + number_of(a.offsets[axis])) * step;
    };
    const Expr y = center(floor_div(pixel, Expr(columns)), 0, height);
    const Expr column = center(floor_mod(pixel, Expr(columns)), 1, width);
    const Expr corners[] = {column - half_width, y - half_height, column + half_width, y + half_height};
    Expr value = corners[3];
    for (int64_t k = 2; k >= 0; --k) value = select(equal(i[2], Expr(k)), corners[k], value);
    return a.clip ? max(min(value, number_of(1)), number_of(0)) : value;
  });
}

// ---- all_class_non_max_suppression

// A scalar, which may be given as a tensor of one element.
Value as_scalar(Composition& c, const char* what, const Value& v) {
  if (!(product(v.shape()) == Dim(1)))
    c.fail(shape_error(fmt::format("{} must have one element, found shape {}", what, str(v.shape()))));
  return c.reshape(v, {});
}

std::vector<Value> all_class_suppression(const AllClassAttrs& a, Composition& c) {
  if (a.output_format != "onnx")
    c.fail({DiagnosticId::unsupported_attribute,
            fmt::format("output_format must be \"onnx\", found \"{}\"", a.output_format), ""});
  const Value boxes = c.operand(0), most = c.reshape(as_scalar(c, "max_output_boxes_per_class", c.operand(2)), {1});
  return c.call_all("vision.non_max_suppression_per_class",
                    {boxes, c.operand(1), c.cast(as_scalar(c, "iou_threshold", c.operand(3)), boxes.dtype()),
                     c.cast(as_scalar(c, "score_threshold", c.operand(4)), boxes.dtype()), most});
}

// ---- operators that have a type only

TypeResult type_of_transform_loc(const TransformLocAttrs& a, const Operands& in) {
  const Shape &probabilities = in[0].shape, &anchors = in[2].shape;
  if (auto e = first_of({check_type(in[0], "cls_prob", types::real), check_rank(in[0], "cls_prob", 3),
                         check_rank(in[1], "loc_pred", 2), check_rank(in[2], "anchor", 3)}))
    return *e;
  if (a.variances.size() != 4) return attribute_error("variances must have 4 numbers");
  if (auto e = first_of(
          {check_equal(anchors[1], "the number of anchors", probabilities[2], "that of probabilities"),
           check_equal(anchors[2], "the numbers of an anchor", 4, "its coordinates"),
           check_equal(in[1].shape[1], "the numbers of loc_pred", anchors[1] * Dim(4), "four for each anchor")}))
    return *e;
  return tuple_type(
      {tensor_type({probabilities[0], anchors[1], 6}, in[0].dtype), tensor_type(Shape{probabilities[0]}, dtype::i32)});
}

TypeResult type_of_valid_counts(const ValidCountsAttrs&, const Operands& in) {
  const Shape& data = in[0].shape;
  if (auto e = first_of({check_type(in[0], "data", types::real), check_rank(in[0], "data", 3)})) return *e;
  return tuple_type({tensor_type(Shape{data[0]}, dtype::i32), tensor_type(data, in[0].dtype),
                     tensor_type({data[0], data[1]}, dtype::i32)});
}

TypeResult type_of_box_suppression(const SuppressionAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  if (auto e = first_of({check_type(in[0], "data", types::real), check_rank(in[0], "data", 3),
                         check_rank(in[1], "valid_count", 1), check_rank(in[2], "indices", 2)}))
    return *e;
  if (!a.return_indices) return tensor_result(data, in[0].dtype);
  return tuple_type({tensor_type({data[0], data[1]}, dtype::i32), tensor_type({data[0], 1}, dtype::i32)});
}

TypeResult type_of_regular(const RegularAttrs& a, const Operands& in) {
  if (auto e = first_of(
          {check_type(in[0], "boxes", types::real), check_rank(in[0], "boxes", 3), check_rank(in[1], "scores", 3),
           check_positive("max_detections_per_class", {a.max_detections_per_class}),
           check_positive("max_detections", {a.max_detections}), check_positive("num_classes", {a.num_classes})}))
    return *e;
  const Dim batch = in[0].shape[0], most = a.max_detections;
  return tuple_type({tensor_type({batch, most, 4}, dtype::f32), tensor_type({batch, most}, dtype::f32),
                     tensor_type({batch, most}, dtype::f32), tensor_type(Shape{batch}, dtype::i32)});
}

TypeResult type_of_proposal(const ProposalAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "cls_prob", types::real), check_rank(in[0], "cls_prob", 4),
                         check_rank(in[1], "bbox_pred", 4), check_rank(in[2], "im_info", 2),
                         check_positive("rpn_post_nms_top_n", {a.rpn_post_nms_top_n})}))
    return *e;
  if (auto e = check_equal(in[2].shape[1], "the numbers of im_info", 3, "rows, columns and scale")) return *e;
  return tensor_result({in[0].shape[0] * Dim(a.rpn_post_nms_top_n), 5}, in[0].dtype);
}

void add_detections_without_definition(OperatorTable& table) {
  using T = TransformLocAttrs;
  table.add<T>({.name = "vision.multibox_transform_loc",
                .summary = "(class, score, box) of the anchors, and how many of each image are valid",
                .attributes = {{"clip", &T::clip, "limit boxes to the image"},
                               {"threshold", &T::threshold, "the least score"},
                               {"variances", &T::variances, "scales of the predictions"},
                               {"keep_background", &T::keep_background, "the background is a class"}},
                .arguments = {"cls_prob", "loc_pred", "anchor"},
                .type = type_of_transform_loc});
  using C = ValidCountsAttrs;
  table.add<C>({.name = "vision.get_valid_counts",
                .summary = "how many boxes have scores above a threshold, these boxes, and their positions",
                .attributes = {{"id_index", &C::id_index, "the position of the class among the numbers of a box"},
                               {"score_index", &C::score_index, "the position of the score"}},
                .arguments = {"data", "score_threshold"},
                .type = type_of_valid_counts});
  using S = SuppressionAttrs;
  table.add<S>(
      {.name = "vision.non_max_suppression",
       .summary = "the boxes of each image that overlap with no better one: their positions and number, or the boxes",
       .attributes = {{"force_suppress", &S::force_suppress, "boxes of other classes count, too"},
                      {"top_k", &S::top_k, "boxes with the best scores that are considered; -1: all"},
                      {"coord_start", &S::coord_start, "the position of the corners among the numbers of a box"},
                      {"score_index", &S::score_index, "the position of the score"},
                      {"id_index", &S::id_index, "the position of the class; -1: none"},
                      {"return_indices", &S::return_indices, "positions and number, not boxes"},
                      {"invalid_to_bottom", &S::invalid_to_bottom, "boxes that are left come first"}},
       .arguments = {"data", "valid_count", "indices", "max_output_size", "iou_threshold"},
       .type = type_of_box_suppression});
  using R = RegularAttrs;
  table.add<R>({.name = "vision.regular_non_max_suppression",
                .summary = "boxes, classes and scores of the detections of each image, and their number",
                .attributes = {{"max_detections_per_class", &R::max_detections_per_class, "the most of a class", true},
                               {"max_detections", &R::max_detections, "the most of an image", true},
                               {"num_classes", &R::num_classes, "the number of classes", true},
                               {"iou_threshold", &R::iou_threshold, "the largest overlap", true},
                               {"score_threshold", &R::score_threshold, "the least score", true}},
                .arguments = {"boxes", "scores"},
                .type = type_of_regular});
  using P = ProposalAttrs;
  table.add<P>({.name = "vision.proposal",
                .summary = "(image, box) of the best proposals of a region proposal network",
                .attributes = {{"scales", &P::scales, "scales of the anchors"},
                               {"ratios", &P::ratios, "ratios of the anchors"},
                               {"feature_stride", &P::feature_stride, "pixels of the image per pixel of the features"},
                               {"threshold", &P::threshold, "the largest overlap"},
                               {"rpn_pre_nms_top_n", &P::rpn_pre_nms_top_n, "boxes before the suppression"},
                               {"rpn_post_nms_top_n", &P::rpn_post_nms_top_n, "boxes of an image after it"},
                               {"rpn_min_size", &P::rpn_min_size, "the least size of a box"},
                               {"iou_loss", &P::iou_loss, "how boxes were trained"}},
                .arguments = {"cls_prob", "bbox_pred", "im_info"},
                .type = type_of_proposal});
}

}  // namespace

void detections(OperatorTable& table) {
  using A = PriorAttrs;
  table.add(composed<A>(
      {.name = "vision.multibox_prior",
       .summary = "anchors (x0, y0, x1, y1) around the pixels of an image, in units of its size",
       .attributes = {{"sizes", &A::sizes, "sizes of square anchors"},
                      {"ratios", &A::ratios,
                       "width over height of anchors of the first size; the first ratio does not count"},
                      {"steps", &A::steps, "distances of pixels along y and x; negative: those that cover the image"},
                      {"offsets", &A::offsets, "positions of the centres in a pixel, along y and x"},
                      {"clip", &A::clip, "limit anchors to the image"}},
       .arguments = {"data"}},
      multibox_prior));
  table.add(composed<AllClassAttrs>(
      {.name = "vision.all_class_non_max_suppression",
       .summary = "(batch, class, box) of the boxes of each class that overlap with no better box of it, and their "
                  "number, from which on rows are unspecified",
       .attributes = {{"output_format", &AllClassAttrs::output_format, "must be \"onnx\""}},
       .arguments = {"boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"},
       .sample_shapes = {{1, 4, 4}, {1, 1, 4}, {1}, {}, {}}},
      all_class_suppression));
  add_detections_without_definition(table);
}

}  // namespace dlcc::relay::ops
