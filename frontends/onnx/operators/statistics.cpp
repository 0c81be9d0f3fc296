// Normalization by statistics of the data: LayerNormalization, RMSNormalization, GroupNormalization,
// InstanceNormalization, MeanVarianceNormalization, LpNormalization, GlobalLpPool, LRN.
#include "frontends/onnx/operators/statistics.h"

#include <numeric>

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {

Value mean_over(Node& n, const Value& x, const std::vector<int64_t>& axes) {
  return n.call("mean", {x}, {{"axis", axes}, {"keepdims", true}});
}

Moments moments_over(Node& n, const Value& x, const std::vector<int64_t>& axes) {
  const Value mean = mean_over(n, x, axes), centered = subtract(n, x, mean);
  return {mean, centered, mean_over(n, multiply(n, centered, centered), axes)};
}

Value standardize(Node& n, const Value& x, const std::vector<int64_t>& axes, const Value& scale,
                  const std::optional<Value>& shift, double epsilon, bool center) {
  relay::Attrs attrs = {{"axis", axes}, {"epsilon", epsilon}};
  if (!center) attrs["center"] = false;
  return n.call("nn.standardize", {x, scale, shift ? *shift : constant_like(n, x, 0)}, attrs);
}

Value along_channels(Node& n, const Value& list, int rank) {
  n.check(list.rank() == 1, DiagnosticId::shape_mismatch,
          fmt::format("{} must be a list, found {}", list.role, describe(list.type)));
  if (n.failed()) return Value::poison();
  Shape shape(static_cast<size_t>(rank) - 1, Dim(1));
  shape[0] = list.type.shape[0];
  return n.reshape(list, shape);
}

namespace {

std::vector<int64_t> axes_from(int64_t first, int rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

double epsilon_of(Node& n) { return n.number("epsilon", 1e-5f); }

// ---- over trailing axes -------------------------------------------------------------------------------------------

// The type of LayerNormalization's statistics. The computation is in float32 or float64 in any case.
DType stash_type(Node& n) {
  const int64_t number = n.integer("stash_type", 1);
  const auto type = dtype_of_onnx(static_cast<int>(number));
  n.check(type && is_float(*type) && bits(*type) >= 16, DiagnosticId::bad_attribute,
          fmt::format("attribute 'stash_type' is {}; it must be the number of a float type", number));
  return type.value_or(dtype::f32);
}

Values convert_layer_normalization(Node& n) {
  const auto axis = n.axis_of(n.integer("axis", -1), n.in(0).rank());
  const DType stash = stash_type(n);
  if (!axis) return {};
  const std::vector<int64_t> axes = axes_from(*axis, n.in(0).rank());
  const std::optional<Value> shift = n.has(2) ? std::optional(n.in(2)) : std::nullopt;
  Values results = {standardize(n, n.in(0), axes, n.in(1), shift, epsilon_of(n))};
  if (!n.wants(1) && !n.wants(2)) return results;
  const bool narrow = bits(n.in(0).type.dtype) == 16;
  const Moments m = moments_over(n, narrow ? n.cast(n.in(0), dtype::f32) : n.in(0), axes);
  results.push_back(n.cast(m.mean, stash));
  results.push_back(n.cast(n.call("rsqrt", {plus(n, m.variance, epsilon_of(n))}), stash));
  return results;
}

Values convert_rms_normalization(Node& n) {
  const auto axis = n.axis_of(n.integer("axis", -1), n.in(0).rank());
  stash_type(n);
  if (!axis) return {};
  return {standardize(n, n.in(0), axes_from(*axis, n.in(0).rank()), n.in(1), std::nullopt, epsilon_of(n), false)};
}

// ---- over groups of channels --------------------------------------------------------------------------------------

// Reports an input that is no list of one element for each of the `count` `owners`.
bool check_list(Node& n, int input, const Dim& count, const char* owners) {
  const Value& list = n.in(input);
  const bool fits =
      list.rank() == 1 && (list.type.shape[0] == count || !list.type.shape[0].is_constant() || !count.is_constant());
  return n.check(fits, DiagnosticId::shape_mismatch,
                 fmt::format("{} must have one element for each of the {} {}, found shape {}", list.role, count.str(),
                             owners, str(list.type.shape)));
}

Values convert_instance_normalization(Node& n) {
  n.ignore("consumed_inputs");
  const int rank = n.in(0).rank();
  if (!n.check(rank >= 3, DiagnosticId::shape_mismatch, "input must have axes for batch, channels and space"))
    return {};
  if (!check_list(n, 1, n.in(0).type.shape[1], "channels") || !check_list(n, 2, n.in(0).type.shape[1], "channels"))
    return {};
  const Value scale = along_channels(n, n.in(1), rank), shift = along_channels(n, n.in(2), rank);
  return {standardize(n, n.in(0), axes_from(2, rank), scale, shift, epsilon_of(n))};
}

// [N, C, ...] as [N, groups, C / groups, ...].
std::optional<Shape> grouped_shape(Node& n, const Shape& shape, int64_t groups) {
  if (!n.check(shape.size() >= 2 && groups >= 1, DiagnosticId::shape_mismatch,
               "X must have axes for batch and channels, and num_groups must be at least 1"))
    return std::nullopt;
  const auto channels = shape[1].constant();
  n.check(!channels || *channels % groups == 0, DiagnosticId::shape_mismatch,
          fmt::format("{} channels cannot be divided into {} groups", shape[1].str(), groups));
  Shape grouped = shape;
  grouped[1] = floor_div(shape[1], groups);
  grouped.insert(grouped.begin() + 1, Dim(groups));
  return grouped;
}

// Scale and bias have an element for each channel; before operator set 21, for each group.
Values convert_group_normalization(Node& n) {
  const int64_t groups = n.required_integer("num_groups");
  if (n.opset() >= 21) stash_type(n);
  const Value& x = n.in(0);
  const auto grouped = grouped_shape(n, x.type.shape, groups);
  if (!grouped) return {};
  const Dim listed = n.opset() < 21 ? Dim(groups) : x.type.shape[1];
  for (int input : {1, 2})
    if (!check_list(n, input, listed, n.opset() < 21 ? "groups" : "channels")) return {};
  const int rank = static_cast<int>(grouped->size());
  auto parameter = [&](int input) {
    if (n.opset() < 21) return along_channels(n, n.in(input), rank);
    Shape shape(static_cast<size_t>(rank) - 1, Dim(1));
    shape[0] = (*grouped)[1], shape[1] = (*grouped)[2];
    return n.reshape(n.in(input), shape);
  };
  const Value normal =
      standardize(n, n.reshape(x, *grouped), axes_from(2, rank), parameter(1), parameter(2), epsilon_of(n));
  return {n.reshape(normal, x.type.shape)};
}

// ---- without parameters -------------------------------------------------------------------------------------------

// (X - mean) / (sqrt(variance) + 1e-9)
Values convert_mean_variance_normalization(Node& n) {
  const std::vector<int64_t> axes = n.integers("axes").value_or(std::vector<int64_t>{0, 2, 3});
  return {in_float32(n, n.in(0), [&](const Value& x) {
    const Moments m = moments_over(n, x, axes);
    return divide(n, m.centered, plus(n, n.call("sqrt", {m.variance}), 1e-9));
  })};
}

// Where the norm is 0 so is the result.
Values convert_lp_normalization(Node& n) {
  const auto axis = n.axis_of(n.integer("axis", -1), n.in(0).rank());
  const int64_t p = n.integer("p", 2);
  n.check(p == 1 || p == 2, DiagnosticId::bad_attribute, fmt::format("attribute 'p' is {}; it must be 1 or 2", p));
  if (!axis) return {};
  return {in_float32(n, n.in(0), [&](const Value& x) {
    Value norm = n.call("sum", {power_of_magnitude(n, x, static_cast<double>(p))},
                        {{"axis", relay::AttrList{*axis}}, {"keepdims", true}});
    norm = root_of_order(n, norm, static_cast<double>(p));
    Value zero = constant_like(n, norm, 0), one = constant_like(n, norm, 1);
    return divide(n, x, n.call("where", {n.call("equal", {norm, zero}), one, norm}));
  })};
}

Values convert_global_lp_pool(Node& n) {
  const double p = order_of_norm(n);
  if (!n.check(n.in(0).rank() >= 3, DiagnosticId::shape_mismatch, "X must have axes for batch, channels and space"))
    return {};
  return {in_float32(n, n.in(0), [&](const Value& x) {
    Value sum = n.call("sum", {power_of_magnitude(n, x, p)}, {{"axis", axes_from(2, x.rank())}, {"keepdims", true}});
    return root_of_order(n, sum, p);
  })};
}

Values convert_lrn(Node& n) {
  return {n.call("nn.lrn", {n.in(0)},
                 {{"size", n.required_integer("size")},
                  {"axis", 1},
                  {"bias", n.number("bias", 1)},
                  {"alpha", n.number("alpha", 1e-4f)},
                  {"beta", n.number("beta", 0.75f)}})};
}

}  // namespace

// ---- norms --------------------------------------------------------------------------------------------------------

double order_of_norm(Node& n) {
  const double p = n.opset() < 2 ? n.number("p", 2) : static_cast<double>(n.integer("p", 2));
  n.check(p > 0, DiagnosticId::bad_attribute, fmt::format("attribute 'p' is {}; it must be positive", p));
  return p;
}

Value power_of_magnitude(Node& n, const Value& x, double p) {
  if (p == 2) return multiply(n, x, x);
  Value magnitude = n.call("abs", {x});
  return p == 1 ? magnitude : n.call("power", {magnitude, constant_like(n, x, p)});
}

Value root_of_order(Node& n, const Value& x, double p) {
  if (p == 1) return x;
  return p == 2 ? n.call("sqrt", {x}) : n.call("power", {x, constant_like(n, x, 1 / p)});
}

void add_statistics(Table& table) {
  table.add({
      {"GlobalLpPool", 1, "X", 1, 1, 1, convert_global_lp_pool},
      {"GroupNormalization", 18, "X scale bias", 3, 3, 1, convert_group_normalization, true},
      {"GroupNormalization", 21, "X scale bias", 3, 3, 1, convert_group_normalization, true},
      {"InstanceNormalization", 1, "input scale B", 3, 3, 1, convert_instance_normalization, true},
      {"LRN", 1, "X", 1, 1, 1, convert_lrn, true},
      {"LayerNormalization", 17, "X Scale B", 2, 3, 3, convert_layer_normalization, true},
      {"LpNormalization", 1, "input", 1, 1, 1, convert_lp_normalization, true},
      {"MeanVarianceNormalization", 9, "X", 1, 1, 1, convert_mean_variance_normalization, true},
      {"RMSNormalization", 23, "X scale", 2, 2, 1, convert_rms_normalization, true},
      {"SimplifiedLayerNormalization", 1, "X scale", 2, 2, 1, convert_rms_normalization, true},  // of onnxruntime
  });
}

}  // namespace dlcc::frontends::onnx
