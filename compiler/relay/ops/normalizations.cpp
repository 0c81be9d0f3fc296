// nn.layer_norm, nn.instance_norm, nn.group_norm, nn.l2_normalize, nn.fast_softmax, nn.prelu, nn.cross_entropy,
// nn.cross_entropy_with_logits, variance: calls of nn.standardize, of reductions and of arithmetic.
#include "relay/call_gradient.h"
#include "relay/op_support/composition.h"
#include "relay/op_support/reductions.h"

namespace dlcc::relay::ops {

namespace {

struct LayerNormAttrs {
  int64_t axis = -1;
  double epsilon = 1e-5;
  bool center = true, scale = true;
};
struct InstanceNormAttrs : LayerNormAttrs {
  InstanceNormAttrs() { axis = 1; }
};
struct GroupNormAttrs : InstanceNormAttrs {
  int64_t num_groups = 0;
};
struct L2Attrs {
  double eps = 0;
  std::vector<int64_t> axis;
};
struct FastSoftmaxAttrs {
  int64_t axis = -1;
};
struct PReluAttrs {
  int64_t axis = 1;
};
struct VarianceAttrs {
  std::optional<std::vector<int64_t>> axis;
  bool keepdims = false, exclude = false, unbiased = false;
};

// A vector as a tensor that broadcasts along one axis of the data. It has one element for each index of the axis.
Value along(Composition& c, const char* what, const Value& vector, const Value& data, int axis) {
  c.require(first_of({check_same_type(data.type, "data", vector.type, what), check_rank(vector.type, what, 1)}));
  c.require(check_equal(vector.shape()[0], fmt::format("the number of elements of {}", what), data.shape()[axis],
                        fmt::format("the size of axis {} of the data", axis)));
  Shape shape(static_cast<size_t>(data.rank() - axis), Dim(1));
  shape[0] = vector.shape()[0];
  return c.reshape(vector, shape);
}

// The data standardized along axes, times gamma plus beta, which run along `axis` of the data.
Value standardized(Composition& c, const LayerNormAttrs& a, const Value& x, const std::vector<int64_t>& axes,
                   const Value& gamma, const Value& beta) {
  return c.call("nn.standardize",
                {x, a.scale ? gamma : c.number(x.dtype(), 1), a.center ? beta : c.number(x.dtype(), 0)},
                {{"axis", axes}, {"epsilon", a.epsilon}});
}

int checked_axis(const LayerNormAttrs& a, const Composition& c) {
  const Value x = c.operand(0);
  c.require(first_of({check_type(x.type, "data", types::real), check_axis("axis", a.axis, x.rank())}));
  return wrap_axis(a.axis, x.rank());
}

Value layer_norm(const LayerNormAttrs& a, Composition& c) {
  const int axis = checked_axis(a, c);
  const Value x = c.operand(0);
  return standardized(c, a, x, {axis}, along(c, "gamma", c.operand(1), x, axis),
                      along(c, "beta", c.operand(2), x, axis));
}

// The axes but the batch and the channels.
std::vector<int64_t> pixel_axes(int rank, int channels) {
  std::vector<int64_t> axes;
  for (int k = 1; k < rank; ++k)
    if (k != channels) axes.push_back(k);
  return axes;
}

Value instance_norm(const InstanceNormAttrs& a, Composition& c) {
  const int axis = checked_axis(a, c);
  const Shape shape = c.operand(0).shape();
  const bool is_point = pixel_axes(c.operand(0).rank(), axis).empty();  // an image of one pixel, without axes for it
  Shape image = shape;
  if (is_point) image.emplace_back(1);
  const Value x = c.reshape(c.operand(0), image);
  return c.reshape(standardized(c, a, x, pixel_axes(x.rank(), axis), along(c, "gamma", c.operand(1), x, axis),
                                along(c, "beta", c.operand(2), x, axis)),
                   shape);
}

Value group_norm(const GroupNormAttrs& a, Composition& c) {
  const int axis = checked_axis(a, c);
  const Value x = c.operand(0);
  c.require(check_positive("num_groups", {a.num_groups}));
  const Dim channels = x.shape()[axis], groups = a.num_groups;
  if (!(floor_mod(channels, groups) == Dim(0)))
    c.fail(shape_error(fmt::format("{} channels cannot be divided into {} groups", channels.str(), a.num_groups)));
  const Value gamma = along(c, "gamma", c.operand(1), x, axis), beta = along(c, "beta", c.operand(2), x, axis);
  auto split = [&](const Value& v) {  // the axis of the channels, as groups and channels of a group
    Shape shape = v.shape();
    const auto at = static_cast<ptrdiff_t>(v.rank() - (x.rank() - axis));
    shape[static_cast<size_t>(at)] = floor_div(channels, groups);
    shape.insert(shape.begin() + at, groups);
    return c.reshape(v, shape);
  };
  const Value whole = split(x);
  return c.reshape(standardized(c, a, whole, pixel_axes(whole.rank(), axis), split(gamma), split(beta)), x.shape());
}

Value l2_normalize(const L2Attrs& a, Composition& c) {
  const Value x = c.operand(0);
  c.require(first_of({check_type(x.type, "data", types::real), check_axes("axis", a.axis, x.rank())}));
  const DType wide = tensor::compute_type(x.dtype());
  const Value exact = c.cast(x, wide);
  const Value squares = c.call("multiply", {exact, exact});
  Attrs over = {{"keepdims", true}};
  if (!a.axis.empty()) over["axis"] = a.axis;
  const Value total = c.call("maximum", {c.call("sum", {squares}, over), c.number(wide, a.eps)});
  return c.cast(c.call("divide", {exact, c.call("sqrt", {total})}), x.dtype());
}

Value prelu(const PReluAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  c.require(first_of({check_type(x.type, "data", types::real), check_axis("axis", a.axis, x.rank())}));
  const Value alpha = along(c, "alpha", c.operand(1), x, wrap_axis(a.axis, x.rank()));
  const Value is_positive = c.call("greater", {x, c.number(x.dtype(), 0)});
  return c.call("where", {is_positive, x, c.call("multiply", {x, alpha})});
}

// -sum(prediction * y) / batch.
Value entropy(Composition& c, const Value& prediction) {
  const Value y = c.operand(1);
  c.require(first_of({check_type(prediction.type, "x", types::real), check_same_type(prediction.type, "x", y.type, "y"),
                      check_rank(prediction.type, "x", 2), check_rank(y.type, "y", 2)}));
  for (int k : {0, 1})
    c.require(check_equal(y.shape()[k], fmt::format("axis {} of y", k), prediction.shape()[k],
                          fmt::format("axis {} of x", k)));
  const Value total = c.call("sum", {c.call("multiply", {prediction, y})});
  const DType type = prediction.dtype();
  return c.compute(type, {}, {total, prediction}, [type](const std::vector<Tensor>& args, Index) {
    return -scalar(args[0]) / size_as(tensor::compute_type(type), {args[1].extent(0)});
  });
}

void gradient_of_entropy(CallGradient& g, bool logarithms) {
  const Term x = g.operand(0), y = g.operand(1),
             share = -(g.gradient() * g.code().inverse_of_size(x.dtype(), x.shape()[0]));
  if (g.wants(0)) g.add(0, logarithms ? share * y : share * y / x);
  if (g.wants(1)) g.add(1, share * (logarithms ? x : x.map("log")));
}

Value cross_entropy(const NoAttrs&, Composition& c) { return entropy(c, c.call("log", {c.operand(0)})); }
Value cross_entropy_with_logits(const NoAttrs&, Composition& c) { return entropy(c, c.operand(0)); }

Value variance(const VarianceAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  const std::vector<int64_t> named = a.axis.value_or(std::vector<int64_t>{});
  c.require(first_of({check_type(x.type, "data", types::real), check_axes("axis", named, x.rank())}));
  const Value difference = c.call("subtract", {x, c.operand(1)});
  if (difference.shape() != x.shape())
    c.fail(shape_error(fmt::format("mean of shape {} cannot be broadcast to the data's shape {}",
                                   str(c.operand(1).shape()), str(x.shape()))));
  Attrs over = {{"keepdims", a.keepdims}, {"exclude", a.exclude}};
  if (a.axis) over["axis"] = *a.axis;
  const Value total = c.call("sum", {c.call("multiply", {difference, difference})}, over);
  const Dim count = product(extents_of(x.shape(), reduced_axes(a.axis, a.exclude, x.rank())));
  const Dim divisor = a.unbiased ? count - Dim(1) : count;
  const DType type = x.dtype();
  return c.compute(type, total.shape(), {total}, [=](const std::vector<Tensor>& args, Index i) {
    return args[0](i) / cast(tensor::compute_type(type), Expr(divisor));
  });
}

void gradient_of_variance(const VarianceAttrs& a, CallGradient& g) {
  const Term x = g.operand(0);
  const std::vector<bool> mask = reduced_axes(a.axis, a.exclude, x.rank());
  const Dim count = product(extents_of(x.shape(), mask));
  const Term share = g.gradient().reshaped(reduced_shape(x.shape(), mask, true)) * 2 *
                     g.code().inverse_of_size(x.dtype(), a.unbiased ? count - Dim(1) : count);
  const Term gradient = (x - g.operand(1)) * share;
  g.add(0, gradient);
  if (g.wants(1)) g.add(1, -gradient);
}

template <class A, class F>
void add_norm(OperatorTable& table, const char* name, const char* summary, const char* axis, std::vector<Field<A>> more,
              F make) {
  std::vector<Field<A>> fields = {{"axis", &A::axis, axis},
                                  {"epsilon", &A::epsilon, "added to the variance"},
                                  {"center", &A::center, "add beta"},
                                  {"scale", &A::scale, "multiply by gamma"}};
  fields.insert(fields.begin(), more.begin(), more.end());
  table.add(composed<A>({.name = name,
                         .summary = summary,
                         .attributes = fields,
                         .arguments = {"data", "gamma", "beta"},
                         .tolerance = 2e-6,
                         .sample_shapes = {{1, 2, 4}, {2}, {2}},
                         .sample_attrs = more.empty() ? Attrs{{"axis", 1}} : Attrs{{"num_groups", 1}}},
                        make));
}

}  // namespace

void normalizations(OperatorTable& table) {
  add_norm<LayerNormAttrs>(
      table, "nn.layer_norm",
      "(data - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of one axis", "the axis", {},
      layer_norm);
  add_norm<InstanceNormAttrs>(
      table, "nn.instance_norm",
      "(data - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of each channel of each image",
      "the axis of the channels", {}, instance_norm);
  using G = GroupNormAttrs;
  add_norm<G>(table, "nn.group_norm",
              "(data - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of groups of channels",
              "the axis of the channels", {{"num_groups", &G::num_groups, "the number of groups", true}}, group_norm);
  table.add(composed<L2Attrs>({.name = "nn.l2_normalize",
                               .summary = "data / sqrt(max(sum of squares, eps))",
                               .attributes = {{"eps", &L2Attrs::eps, "the least sum", true},
                                              {"axis", &L2Attrs::axis, "the axes of the sum; all if empty"}},
                               .arguments = {"data"},
                               .tolerance = 5e-7},
                              l2_normalize));
  table.add(composed<FastSoftmaxAttrs>({.name = "nn.fast_softmax",
                                        .summary = "softmax, which TVM computes with an approximation of exp",
                                        .attributes = {{"axis", &FastSoftmaxAttrs::axis, "the axis that sums to one"}},
                                        .arguments = {"data"},
                                        .tolerance = 1e-6},
                                       [](const FastSoftmaxAttrs& a, Composition& c) {
                                         return c.call("nn.softmax", {c.operand(0)}, {{"axis", a.axis}});
                                       }));
  table.add(composed<PReluAttrs>({.name = "nn.prelu",
                                  .summary = "x where x > 0, else alpha * x, with an alpha for each index of an axis",
                                  .attributes = {{"axis", &PReluAttrs::axis, "the axis along which alpha varies"}},
                                  .arguments = {"data", "alpha"},
                                  .sample_shapes = {{1, 2, 4}, {2}}},
                                 prelu));
  table.add(composed<NoAttrs>({.name = "nn.cross_entropy",
                               .summary = "-sum(log(x) * y) / batch",
                               .arguments = {"x", "y"},
                               .gradient = [](const NoAttrs&, CallGradient& g) { gradient_of_entropy(g, false); },
                               .tolerance = 1e-6},
                              cross_entropy));
  table.add(composed<NoAttrs>({.name = "nn.cross_entropy_with_logits",
                               .summary = "-sum(x * y) / batch",
                               .arguments = {"x", "y"},
                               .gradient = [](const NoAttrs&, CallGradient& g) { gradient_of_entropy(g, true); }},
                              cross_entropy_with_logits));
  using V = VarianceAttrs;
  table.add(composed<V>({.name = "variance",
                         .summary = "the mean of the squared differences from the given mean, over some axes",
                         .attributes = {{"axis", &V::axis, "the axes; all if None"},
                                        {"keepdims", &V::keepdims, "keep reduced axes, with size 1"},
                                        {"exclude", &V::exclude, "reduce the axes that `axis` does not name"},
                                        {"unbiased", &V::unbiased, "divide by one less than the number of elements"}},
                         .arguments = {"data", "mean"},
                         .gradient = gradient_of_variance},
                        variance));
}

}  // namespace dlcc::relay::ops
