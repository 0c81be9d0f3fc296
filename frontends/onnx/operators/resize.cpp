// Resize and Upsample.
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/table.h"
#include "support/fraction.h"

namespace dlcc::frontends::onnx {
namespace {

// The sizes of the result, and the scale of positions where it is not the ratio of the sizes.
struct Target {
  std::optional<Shape> known;       // the sizes, or
  Value size = {};                  // the list that the model computes
  std::optional<Value> scale = {};  // float32, one number per axis
};

std::vector<float> numbers_in(const Constant& list) {
  std::vector<float> numbers;
  for (int64_t k = 0; k < list.count(); ++k) numbers.push_back(static_cast<float>(list.number_at(k)));
  return numbers;
}

Value ones(int64_t count) { return floats(std::vector<float>(static_cast<size_t>(count), 1)); }

// The sizes floor(size * scale) for scales that are known.
std::optional<Shape> scaled_sizes(Node& n, const Shape& data, const std::vector<float>& scales) {
  Shape sizes;
  for (size_t k = 0; k < data.size(); ++k) {
    auto fraction = simplest_fraction(scales[k]);
    if (!n.check(
            fraction.has_value(), DiagnosticId::bad_attribute,
            fmt::format("the scale of axis {} is {}, which is not a positive number in [2^-31, 2^31]", k, scales[k])))
      return std::nullopt;
    sizes.push_back(floor_div(data[k] * Dim(fraction->numerator), fraction->denominator));
  }
  return sizes;
}

// floor(size * factor + offset), computed by the model; 0 for negative factors.
Value sizes_at_run_time(Node& n, const Value& factor, double offset) {
  Value sizes = n.call("multiply", {n.cast(sizes_of(n, n.in(0)), dtype::f32), factor});
  if (offset != 0) sizes = n.call("add", {sizes, n.scalar(dtype::f32, offset)});
  return n.call("maximum", {n.cast(n.call("floor", {sizes}), dtype::i64), n.scalar(dtype::i64, 0)});
}

// The sizes with the data's own where the scale is known to be 1, as that of the batch and of the channels.
Value with_kept_sizes(Node& n, const Value& sizes, const Value& scales, const std::vector<int64_t>& axes) {
  const std::vector<std::optional<double>> known = n.context().builder.known_numbers(scales);
  std::vector<int64_t> kept;
  for (size_t j = 0; j < axes.size() && j < known.size(); ++j)
    if (known[j] == 1.0) kept.push_back(axes[j]);
  if (kept.empty()) return sizes;
  return spread(n, n.call("take", {sizes_of(n, n.in(0)), integers(kept)}, {{"axis", 0}}), kept, sizes);
}

Target target_of_scales(Node& n, const Value& scales, const std::vector<int64_t>& axes) {
  const Value& x = n.in(0);
  Value all = spread(n, n.cast(scales, dtype::f32), axes, ones(x.rank()));
  const Constant* known = all.constant();
  if (!known) return {{}, with_kept_sizes(n, sizes_at_run_time(n, all, 0), scales, axes), all};
  return {scaled_sizes(n, x.type.shape, numbers_in(*known)), Value::poison(), all};
}

// The largest (not_larger) or smallest (not_smaller) sizes that keep the aspect ratio.
Target target_of_ratio(Node& n, const Value& sizes, const std::vector<int64_t>& axes, const char* extremum) {
  const Value& x = n.in(0);
  Value have = n.call("take", {sizes_of(n, x), integers(axes)}, {{"axis", 0}});
  Value ratios = n.call("divide", {n.cast(sizes, dtype::f32), n.cast(have, dtype::f32)});
  Value ratio = n.call(extremum, {ratios}, {{"axis", relay::AttrList{0}}, {"keepdims", true}});
  const auto count = static_cast<int64_t>(axes.size());
  Value all = spread(n, n.call("broadcast_to", {ratio}, {{"shape", relay::AttrList{count}}}), axes, ones(x.rank()));
  return {{}, sizes_at_run_time(n, all, 0.5), all};
}

std::string aspect_ratio_policy(Node& n) {
  const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  n.check(policy == "stretch" || policy == "not_larger" || policy == "not_smaller", DiagnosticId::bad_attribute,
          fmt::format("keep_aspect_ratio_policy is '{}'", policy), "it is stretch, not_larger or not_smaller");
  return policy;
}

Target target_of_sizes(Node& n, const Value& sizes, const std::vector<int64_t>& axes, const std::string& policy) {
  if (policy == "not_larger") return target_of_ratio(n, sizes, axes, "min");
  if (policy == "not_smaller") return target_of_ratio(n, sizes, axes, "max");
  return {{}, spread(n, n.cast(sizes, dtype::i64), axes, sizes_of(n, n.in(0)))};
}

std::string resize_method(Node& n) {
  const std::string mode = n.text("mode", "nearest");
  if (mode == "nearest") return "nearest_neighbor";
  // The first Upsample has another word for it.
  if (mode == (n.opset() < 7 ? "bilinear" : "linear")) return "linear";
  n.check(mode == "cubic" && n.opset() >= 11, DiagnosticId::bad_attribute, fmt::format("mode is '{}'", mode),
          n.opset() < 7 ? "it is nearest or bilinear" : "it is nearest, linear, or since version 11 cubic");
  return mode;
}

// A call of one of the operators image.resize*, whose sizes are an attribute or the last operand.
Value call_resize(Node& n, const std::string& op, Values args, const Target& target, relay::Attrs attrs) {
  if (target.known)
    attrs["size"] = relay::sizes_attribute(*target.known);
  else
    args.push_back(target.size);
  return n.call(op, args, attrs);
}

Value emit(Node& n, const Target& target, relay::Attrs attrs) {
  const Value& x = n.in(0);
  const Constant* known = target.scale ? target.scale->constant() : nullptr;
  if (target.scale && !known) return call_resize(n, "image.resize_scaled", {x, *target.scale}, target, attrs);
  if (known) {
    relay::AttrList scales;
    for (float scale : numbers_in(*known)) scales.emplace_back(static_cast<double>(scale));
    attrs["scale"] = scales;
  }
  return call_resize(n, "image.resize", {x}, target, attrs);
}

// A box of the data: its first and then its last corner, as parts of the axes' last indices.
Value emit_crop(Node& n, Target target, const std::vector<int64_t>& axes, const relay::Attrs& attrs) {
  const Value& x = n.in(0);
  const int64_t rank = x.rank();
  const auto count = static_cast<int64_t>(axes.size());
  if (!n.check(n.has(1), DiagnosticId::wrong_arity, "tf_crop_and_resize needs the input roi") ||
      !check_length(n, 1, 2 * axes.size()))
    return Value::poison();
  const Value roi = n.cast(n.in(1), dtype::f32);
  const Value zeros = floats(std::vector<float>(static_cast<size_t>(rank), 0));
  Value first = spread(n, slice_of(n, roi, 0, count), axes, zeros);
  Value last = spread(n, slice_of(n, roi, count, 2 * count), axes, ones(rank));
  if (target.scale)
    target = {{}, sizes_at_run_time(n, n.call("multiply", {n.call("subtract", {last, first}), *target.scale}), 0)};
  Value box = n.call("concatenate", {first, last}, {{"axis", 0}});
  return call_resize(n, "image.resize_crop", {x, box}, target, attrs);
}

// Before version 11: positions are multiples of the ratio.
Values resize_by_ratio(Node& n, const Value& scales, const char* rounding) {
  const Value& x = n.in(0);
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < x.rank(); ++k) axes.push_back(k);
  relay::Attrs attrs = {
      {"method", resize_method(n)}, {"coordinate_transformation_mode", "asymmetric"}, {"rounding_method", rounding}};
  const auto one_each = n.with_shape(scales, {Dim(x.rank())});
  n.check(one_each.has_value(), DiagnosticId::shape_mismatch,
          fmt::format("there must be a scale for each of {} axes, found {}", x.rank(), describe(scales.type)));
  if (n.failed()) return {};
  return {emit(n, target_of_scales(n, *one_each, axes), attrs)};
}

Values convert_upsample_by_factors(Node& n) {
  const float height = static_cast<float>(n.number("height_scale", 1));
  const float width = static_cast<float>(n.number("width_scale", 1));
  return resize_by_ratio(n, floats({1, 1, height, width}), "floor");
}
Values convert_upsample_by_attribute(Node& n) {
  auto scales = n.numbers("scales");
  if (!n.check(scales.has_value(), DiagnosticId::bad_attribute, "attribute 'scales' is missing")) return {};
  return resize_by_ratio(n, floats(*scales), "floor");
}
Values convert_upsample(Node& n) { return resize_by_ratio(n, n.in(1), "floor"); }
Values convert_resize_by_scales(Node& n) { return resize_by_ratio(n, n.in(1), "simple"); }

Values convert_resize(Node& n) {
  const Value& x = n.in(0);
  auto axes = axes_attribute(n, x.rank());
  // An empty list stands for an input that is not given.
  auto given = [&](int k) { return n.has(k) && !(product(n.in(k).type.shape) == Dim(0)); };
  const bool scales = given(2), sizes = given(3);
  n.check(scales != sizes || x.rank() == 0, DiagnosticId::wrong_arity, "needs one of the inputs scales and sizes",
          n.remedy_for_moved_attribute());
  const std::string mode = n.text("coordinate_transformation_mode", "half_pixel");
  const relay::Attrs attrs = {{"method", resize_method(n)},
                              {"coordinate_transformation_mode", mode},
                              {"rounding_method", n.text("nearest_mode", "round_prefer_floor")},
                              {"cubic_alpha", n.number("cubic_coeff_a", -0.75f)},
                              {"cubic_exclude", n.flag("exclude_outside", false)},
                              {"antialias", n.flag("antialias", false)},
                              {"extrapolation_value", n.number("extrapolation_value", 0)}};
  const std::string policy = aspect_ratio_policy(n);  // of sizes; scales need none
  if (n.failed()) return {};
  if (x.rank() == 0) return {x};
  if (!check_length(n, scales ? 2 : 3, axes->size())) return {};
  Target target = scales ? target_of_scales(n, n.in(2), *axes) : target_of_sizes(n, n.in(3), *axes, policy);
  return {mode == "tf_crop_and_resize" ? emit_crop(n, target, *axes, attrs) : emit(n, target, attrs)};
}

}  // namespace

void add_resize(Table& table) {
  table.add({
      {"Upsample", 1, "X", 1, 1, 1, bools_as(dtype::f32, convert_upsample_by_factors)},
      {"Upsample", 7, "X", 1, 1, 1, bools_as(dtype::f32, convert_upsample_by_attribute)},
      {"Upsample", 9, "X scales", 2, 2, 1, bools_as(dtype::f32, convert_upsample)},
      {"Resize", 10, "X scales", 2, 2, 1, bools_as(dtype::f32, convert_resize_by_scales)},
      {"Resize", 11, "X roi scales sizes", 1, 4, 1, bools_as(dtype::f32, convert_resize)},
  });
  table.only_if("Resize", "with antialias the sizes of X and of the result are known at compile time");
}

}  // namespace dlcc::frontends::onnx
