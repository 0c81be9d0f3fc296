// image.resize, image.resize_scaled, image.resize_crop: resampling along any axes, which are resized one after the
// other. A stage for each axis reads two (linear) or four (cubic) elements for each of its results, with antialiasing
// as many as the stretched kernel covers.
#include <cmath>
#include <numeric>

#include "relay/op_support/gradients.h"
#include "relay/op_support/resize_positions.h"
#include "relay/op_support/shape_operands.h"
#include "support/fraction.h"

namespace dlcc::relay::ops {

namespace {

// What to do where the filter of antialias, whose length depends on the scale, has no known length.
constexpr const char* known_sizes =
    "the sizes of the data and of the result must be numbers: --dim NAME=N for those of inputs, and a constant where "
    "an operand gives the sizes";

struct ResizeAttrs {
  std::vector<Dim> size;
  AttrValue scale;
  std::string method = "linear";
  std::string coordinate_transformation_mode = "half_pixel";
  std::string rounding_method = "round_prefer_floor";
  double cubic_alpha = -0.75;
  bool cubic_exclude = false;
  bool antialias = false;
  double extrapolation_value = 0;
};

// The kind of the second operand: none, scales, or a region of interest.
enum class Form : uint8_t { plain, scaled, crop };
int operand_count(Form form) { return form == Form::plain ? 1 : 2; }

// The attribute `scale`: the ratio of each axis as a fraction; empty without the attribute.
Checked<std::vector<Fraction>> scales_of(const ResizeAttrs& a, size_t rank) {
  if (std::holds_alternative<std::monostate>(a.scale.v)) return std::vector<Fraction>{};
  const AttrList* list = std::get_if<AttrList>(&a.scale.v);
  std::vector<Fraction> scales;
  for (const AttrValue& item : list ? *list : AttrList{}) {
    double value = 0;
    auto fraction = detail::from_value(item, value) ? simplest_fraction(static_cast<float>(value)) : std::nullopt;
    if (!fraction)
      return attribute_error(fmt::format("scale[{}] is not a positive number in [2^-31, 2^31]", scales.size()));
    scales.push_back(*fraction);
  }
  if (scales.size() != rank) return attribute_error(fmt::format("scale must be a list of {} numbers", rank));
  return scales;
}

Failure check_options(const ResizeAttrs& a, const Operands& in, Form form) {
  const int rank = static_cast<int>(in[0].shape.size());
  const bool crop = a.coordinate_transformation_mode == "tf_crop_and_resize";
  if (a.method != "nearest_neighbor" && a.method != "linear" && a.method != "cubic")
    return attribute_error(
        fmt::format("method must be \"nearest_neighbor\", \"linear\" or \"cubic\", found \"{}\"", a.method));
  if (crop != (form == Form::crop))
    return attribute_error(
        "image.resize_crop and coordinate_transformation_mode=\"tf_crop_and_resize\" belong together");
  if (auto e = first_of({check_type(in[0], "data", a.method == "nearest_neighbor" ? types::movable : types::number),
                         check_position_mode(a.coordinate_transformation_mode), check_rounding(a.rounding_method)}))
    return e;
  if (a.antialias && form == Form::crop) return attribute_error("a region of interest excludes antialias");
  for (size_t k = 0; a.antialias && form == Form::scaled && k < in[0].shape.size(); ++k)
    if (!in[0].shape[k].is_constant())
      return TypeError{DiagnosticId::dynamic_shape, fmt::format("antialias needs known sizes along axis {}", k),
                       known_sizes};
  if (form == Form::plain) return std::nullopt;
  const char* what = form == Form::scaled ? "scale" : "roi";
  const Dim length = form == Form::scaled ? rank : 2 * rank;
  if (auto e = first_of({check_type(in[1], what, types::real), check_rank(in[1], what, 1)})) return e;
  return check_equal(in[1].shape[0], fmt::format("the length of {}", what), length,
                     form == Form::scaled ? "the rank of the data" : "twice the rank of the data");
}

TypeResult type_of_resize(const ResizeAttrs& a, const Operands& in, Form form) {
  const Shape& data = in[0].shape;
  if (auto e = check_options(a, in, form)) return *e;
  auto scales = scales_of(a, data.size());
  if (auto* e = std::get_if<TypeError>(&scales)) return *e;
  Checked<PartialList> sizes = list_value(in, static_cast<size_t>(operand_count(form)), a.size, "size");
  if (auto* e = std::get_if<TypeError>(&sizes)) return *e;
  const PartialList& list = std::get<PartialList>(sizes);
  if (list.size() != data.size())
    return shape_error(fmt::format("size must have {} elements, one per axis, found {}", data.size(), list.size()));
  Shape shape;
  for (size_t k = 0; k < data.size(); ++k) {
    shape.push_back(list[k].value_or(unknown_dim()));
    if (data[k] == Dim(0) && list[k] && !(shape[k] == Dim(0)))
      return shape_error(fmt::format("axis {} has no element to resize", k));
    const bool known = shape[k].is_constant() && data[k].is_constant();
    const bool scaled = form == Form::scaled || !std::get<0>(scales).empty();
    if (a.antialias && !known && !(shape[k] == data[k]) && !scaled)
      return TypeError{DiagnosticId::dynamic_shape, fmt::format("antialias needs known sizes along axis {}", k),
                       known_sizes};
  }
  return tensor_result(shape, in[0].dtype);
}

// ---- the definition -----------------------------------------------------------------------------------------------

ResizedAxis axis_of(const Dim& in, const Dim& out, const std::optional<Fraction>& scale) {
  if (scale) return {in, out, scale->numerator, scale->denominator};
  if (!in.is_constant() || !out.is_constant() || in == Dim(0)) return {in, out, out, in};
  const int64_t divisor = std::gcd(in.value(), out.value());
  return {in, out, out.value() / divisor, in.value() / divisor};
}

class Resizing {
 public:
  Resizing(const ResizeAttrs& a, const Operands& in, Form form, const Shape& result)
      : a_(a), form_(form), result_(result), data_(d_.input("data", in[0].dtype, in[0].shape)) {
    const char* second = form == Form::scaled ? "scale" : "roi";
    if (form != Form::plain) second_ = d_.input(second, in[1].dtype, in[1].shape);
    const auto size = static_cast<size_t>(operand_count(form));
    if (in.size() > size) require_sizes(d_.input("size", in[size].dtype, in[size].shape));
    std::vector<Fraction> scales = std::get<0>(scales_of(a, in[0].shape.size()));
    for (int k = 0; k < data_.rank(); ++k) {
      axes_.push_back(axis_of(data_.extent(k), result[k], scales.empty() ? std::nullopt : std::optional(scales[k])));
      if (form == Form::scaled) axes_[k].scale = cast(dtype::f32, second_(Expr(k)));
      if (form == Form::crop) axes_[k].roi_start = second_(Expr(k));
      if (form == Form::crop) axes_[k].roi_end = second_(Expr(k + data_.rank()));
      if (resized(k)) last_ = k;
    }
  }

  TensorFunction run() {
    if (a_.method == "nearest_neighbor") {
      select_nearest();
    } else {
      Tensor t = data_;
      for (int k = 0; k < last_; ++k)
        if (resized(k)) t = interpolate(t, k);
      interpolate(t, last_);
    }
    return d_.finish();
  }

 private:
  void require_sizes(const Tensor& size) {
    d_.require_next(
        [=, this](Index) {
          std::vector<Expr> same;
          for (size_t k = 0; k < result_.size(); ++k)
            same.push_back(equal(integer_at(size, static_cast<int64_t>(k)), Expr(result_[k])));
          return all_of(same);
        },
        tensor::Status::shape_mismatch);
  }

  // Whether the axis is resampled: elements of the result may differ from the data's elements at the same index.
  bool resized(int k) const {
    return form_ != Form::plain || !(axes_[k].in == axes_[k].out) || !(axes_[k].numerator == axes_[k].denominator);
  }

  // The value, or the extrapolation value where the box of a crop lies outside of the data.
  Expr inside_or_extrapolated(Expr value, const std::vector<int>& axes, Index i) const {
    if (form_ != Form::crop) return value;
    std::vector<Expr> inside;
    for (int k : axes) {
      Expr x = resized_position(a_.coordinate_transformation_mode, axes_[k], i[k], dtype::f32);
      Expr last = cast(dtype::f32, Expr(axes_[k].in - Dim(1)));
      inside.push_back(logical_and(x >= number(dtype::f32, 0), x <= last));
    }
    return select(all_of(inside), value, number(value.type(), a_.extrapolation_value));
  }

  void select_nearest() {
    for (int k = 0; k < data_.rank(); ++k)
      if (resized(k)) require_element_next(d_, axes_[k].in, {result_[k]});
    d_.result("result", data_.type(), result_, [&](Index i) {
      std::vector<Expr> at;
      std::vector<int> all;
      for (int k = 0; k < data_.rank(); ++k) {
        const auto& [mode, rounding] = std::pair(a_.coordinate_transformation_mode, a_.rounding_method);
        at.push_back(resized(k) ? resized_index(mode, rounding, axes_[k], i[k]) : i[k]);
        all.push_back(k);
      }
      return inside_or_extrapolated(form_ == Form::crop ? data_(at) : stored(data_, at), all, i);
    });
  }

  // The taps first .. last around the element at the integral part of a position, and the factor of their distances;
  // null: 1.
  struct Taps {
    int64_t first, last;
    Expr stretch = {};
  };
  Taps taps_of(const ResizedAxis& axis) const {
    const int64_t reach = a_.method == "cubic" ? 2 : 1;
    const DType type = sampling_type(data_.type());
    double scale = 1;  // a lower bound, if it is known at run time only
    Expr stretch;
    if (a_.antialias && axis.scale) {
      const double most = axis.out.is_constant() ? static_cast<double>(axis.out.value()) : 1;
      scale = std::min(1.0, std::max(most, 1.0) / static_cast<double>(axis.in.value()));
      stretch = min(cast(type, axis.scale), number(type, 1));
    } else if (a_.antialias && axis.numerator.is_constant() && axis.denominator.is_constant()) {
      scale =
          std::min(1.0, static_cast<double>(axis.numerator.value()) / static_cast<double>(axis.denominator.value()));
      if (scale != 1) stretch = number(type, scale);
    }
    const int64_t first = static_cast<int64_t>(std::floor(-static_cast<double>(reach) / scale)) + 1;
    return {first, 1 - first, stretch};
  }

  // One axis of the next stage: the position's integral part and the weight of a tap.
  struct Sample {
    Expr base, fraction;
  };
  Sample sample_at(int k, Expr at) const {
    Expr x = resized_position(a_.coordinate_transformation_mode, axes_[k], at, sampling_type(data_.type()));
    Expr base = floor(x);
    return {cast(dtype::i64, base), x - base};
  }
  Expr weight(int k, const Sample& s, Expr tap) const {
    const DType type = s.fraction.type();
    Expr distance = cast(type, tap) - s.fraction;
    if (const Expr stretch = taps_of(axes_[k]).stretch) distance = distance * stretch;
    Expr w = a_.method == "cubic" ? cubic_weight(distance, a_.cubic_alpha) : linear_weight(distance);
    if (!a_.cubic_exclude) return w;
    Expr at = s.base + tap, extent(axes_[k].in);
    return select(logical_and(at >= Expr(0), at < extent), w, number(type, 0));
  }
  bool normalizes(int k) const { return a_.cubic_exclude || taps_of(axes_[k]).stretch; }

  Expr element(const Tensor& t, int k, Index i, Expr position) const {
    std::vector<Expr> at(i.begin(), i.begin() + t.rank());
    at[k] = max(min(position, Expr(axes_[k].in) - Expr(1)), Expr(0));
    return cast(sampling_type(data_.type()), t(at));
  }

  Tensor interpolate(const Tensor& t, int k) {
    if (k < 0) return d_.result("result", data_.type(), result_, [&](Index i) { return stored(t, i); });
    Shape shape = t.shape();
    shape[k] = result_[k];
    const Taps taps = taps_of(axes_[k]);
    require_element_next(d_, axes_[k].in, {result_[k]});
    const tensor::Point value = taps.last - taps.first < 4 ? few_taps(t, k, taps) : many_taps(t, k, taps, shape);
    auto point = [&](Index i) { return inside_or_extrapolated(value(i), {k}, i); };
    // Integers are truncated as by ONNX Runtime, but rounded with antialiasing, as by the standard's reference, too.
    const bool rounds = a_.antialias && is_integer(data_.type());
    auto last_point = [&](Index i) { return rounds ? round_even(point(i)) : point(i); };
    if (k == last_) return d_.result("result", data_.type(), shape, last_point);
    return d_.compute(fmt::format("axis{}", k), sampling_type(data_.type()), shape, point);
  }

  // The weighted sum as an expression.
  tensor::Point few_taps(const Tensor& t, int k, const Taps& taps) const {
    return [=, this](Index i) {
      const Sample s = sample_at(k, i[k]);
      Expr sum, weights;
      for (int64_t tap = taps.first; tap <= taps.last; ++tap) {
        Expr w = weight(k, s, Expr(tap)), term = w * element(t, k, i, s.base + Expr(tap));
        sum = sum ? sum + term : term;
        weights = weights ? weights + w : w;
      }
      return normalizes(k) ? sum / weights : sum;
    };
  }

  // The weighted sum as a reduction over the taps, divided by that of the weights.
  tensor::Point many_taps(const Tensor& t, int k, const Taps& taps, const Shape& shape) {
    const DType type = sampling_type(data_.type());
    const Shape count = {taps.last - taps.first + 1};
    auto tap = [taps](Index r) { return r[0] + Expr(taps.first); };
    Tensor weights = d_.reduce(fmt::format("weights{}", k), {shape[k]}, tensor::sum_of(type), count,
                               [&](Index i, Index r) { return weight(k, sample_at(k, i[0]), tap(r)); });
    Tensor total = d_.reduce(fmt::format("total{}", k), shape, tensor::sum_of(type), count, [&](Index i, Index r) {
      const Sample s = sample_at(k, i[k]);
      return weight(k, s, tap(r)) * element(t, k, i, s.base + tap(r));
    });
    return [=](Index i) { return total(i) / weights(i[k]); };
  }

  const ResizeAttrs& a_;
  Form form_;
  Shape result_;
  Definition d_{"image.resize"};
  Tensor data_, second_;
  std::vector<ResizedAxis> axes_;
  int last_ = -1;  // the last axis that is resized
};

ResizeAttrs resize_defaults(Form form) {
  ResizeAttrs a;
  if (form == Form::crop) a.coordinate_transformation_mode = "tf_crop_and_resize";
  return a;
}

// Along each axis the result is a product of the data and a matrix, which is the result for the identity.
void gradient_of_resize(const ResizeAttrs& a, CallGradient& g, Form form) {
  if (form != Form::plain) g.refuse("the positions are computed");
  const TensorType x = g.operands()[0].type;
  const Shape y = g.result().shape();
  const auto scales = std::get<0>(scales_of(a, x.shape.size()));
  GradientCode& code = g.code();
  Term gradient = g.gradient();
  const int64_t last = gradient.rank() - 1;
  for (size_t k = 0; k < y.size(); ++k) {
    const bool is_scaled = !scales.empty() && scales[k].numerator != scales[k].denominator;
    if (y[k] == x.shape[k] && !is_scaled) continue;
    if (!x.shape[k].is_constant() || !y[k].is_constant()) g.refuse("a size of the image is not known", known_sizes);
    auto position = [&](int64_t axis) {
      return code.call("iota", {},
                       {{"shape", sizes_attribute({x.shape[k], x.shape[k]})}, {"dtype", "int64"}, {"axis", axis}});
    };
    Attrs attrs = g.attrs();
    attrs["size"] = sizes_attribute({x.shape[k], y[k]});
    if (const auto* list = std::get_if<AttrList>(&a.scale.v)) attrs["scale"] = AttrList{1.0, (*list)[k]};
    const Term matrix = equal(position(0), position(1)).cast_to(x.dtype).map("image.resize", attrs);
    std::vector<int64_t> exchanged;
    for (int64_t axis = 0; axis <= last; ++axis) exchanged.push_back(axis);
    std::swap(exchanged[k], exchanged[static_cast<size_t>(last)]);
    gradient =
        code.call("nn.matmul", {gradient.transposed(exchanged), matrix}, {{"transpose_b", true}}).transposed(exchanged);
  }
  g.add(0, gradient);
}

void add_resize(OperatorTable& table, Form form, const char* name, const char* summary,
                std::vector<std::string> arguments) {
  using A = ResizeAttrs;
  table.add<A>({
      .name = name,
      .summary = summary,
      .defaults = resize_defaults(form),
      .attributes =
          {{"size", &A::size, "the sizes of the result, one per axis", true},
           {"scale", &A::scale, "the ratio by which positions are scaled, per axis; that of the sizes if None"},
           {"method", &A::method, "\"nearest_neighbor\", \"linear\" or \"cubic\""},
           {"coordinate_transformation_mode", &A::coordinate_transformation_mode,
            "the position in the data of a result's element, as ONNX names it"},
           {"rounding_method", &A::rounding_method,
            "for the nearest neighbour: \"round_prefer_floor\", \"round_prefer_ceil\", \"floor\", \"ceil\" or "
            "\"simple\" (up where the axis shrinks, else down)"},
           {"cubic_alpha", &A::cubic_alpha, "the parameter of the cubic kernel"},
           {"cubic_exclude", &A::cubic_exclude,
            "elements outside of the data have no weight; else they are the edge's"},
           {"antialias", &A::antialias, "stretches the kernel where an axis shrinks"},
           {"extrapolation_value", &A::extrapolation_value, "the value outside of the data, in a crop"}},
      .arguments = std::move(arguments),
      .values = {"size"},
      .type = [form](const A& a, const Operands& in) { return type_of_resize(a, in, form); },
      .compute_as = [form](const A& a, const Operands& in,
                           const Shape& result) { return Resizing(a, in, form, result).run(); },
      .sizes = [](const A&, const Operands&, const std::vector<Tensor>& v, Definition&) { return elements_of(v[0]); },
      .sizes_suffice = true,
      .gradient = [form](const A& a, CallGradient& g) { gradient_of_resize(a, g, form); },
  });
}

}  // namespace

void resize(OperatorTable& table) {
  add_resize(table, Form::plain, "image.resize", "resamples along the axes whose size or scale changes", {"data"});
  add_resize(table, Form::scaled, "image.resize_scaled", "resamples by ratios that are known at run time",
             {"data", "scale"});
  add_resize(table, Form::crop, "image.resize_crop",
             "resamples a box of the data; roi has its first corner and then its last one, 1 being the last index",
             {"data", "roi"});
}

}  // namespace dlcc::relay::ops
