// image.grid_sample, image.affine_grid: an image sampled at arbitrary positions, and the positions of an affine map
// (Jaderberg et al., "Spatial Transformer Networks", 2015). A position has one component for each spatial axis, the
// innermost first; -1 and 1 are the edges of the image.
#include "relay/op_support/resampling.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct GridSampleAttrs {
  std::string method = "bilinear", layout = "NCHW";
  std::string padding_mode = "zeros";
  bool align_corners = true;
};
struct AffineGridAttrs {
  std::vector<Dim> target_shape;
  bool align_corners = true;
  bool components_last = false;
};

// ---- grid_sample --------------------------------------------------------------------------------------------------

TypeResult type_of_grid_sample(const GridSampleAttrs& a, const Operands& in) {
  const Shape &data = in[0].shape, &grid = in[1].shape;
  if (auto e = first_of({check_type(in[0], "data", types::number), check_type(in[1], "grid", types::real)})) return *e;
  if (data.size() < 3) return shape_error(fmt::format("data must have at least 3 axes, found {}", data.size()));
  const auto axes = static_cast<int64_t>(data.size()) - 2;
  if (auto e = check_rank(in[1], "grid", static_cast<int>(data.size()))) return *e;
  if (auto e = first_of({check_equal(grid[0], "the batch of the grid", data[0], "that of the data"),
                         check_equal(grid[1], "the components of a position", axes, "the number of spatial axes")}))
    return *e;
  if (a.layout != "NCDHW")
    if (auto e = check_layout("layout", a.layout, "NCHW")) return *e;
  if (a.method != "nearest" && a.method != "bilinear" && a.method != "bicubic")
    return attribute_error(
        fmt::format("method must be \"nearest\", \"bilinear\" or \"bicubic\", found \"{}\"", a.method));
  if (a.padding_mode != "zeros" && a.padding_mode != "border" && a.padding_mode != "reflection")
    return attribute_error(
        fmt::format("padding_mode must be \"zeros\", \"border\" or \"reflection\", found \"{}\"", a.padding_mode));
  Shape shape = {data[0], data[1]};
  shape.insert(shape.end(), grid.begin() + 2, grid.end());
  for (size_t k = 2; k < data.size(); ++k)
    if (data[k] == Dim(0) && !(product(shape) == Dim(0)))
      return shape_error(fmt::format("axis {} of the data has no element to sample", k));
  return tensor_result(shape, in[0].dtype);
}

class GridSampling {
 public:
  GridSampling(const GridSampleAttrs& a, const Operands& in)
      : a_(a),
        x_(d_.input("data", in[0].dtype, in[0].shape)),
        grid_(d_.input("grid", in[1].dtype, in[1].shape)),
        type_(sampling_type(in[0].dtype)) {}

  TensorFunction run(const Shape& result) {
    // The position along spatial axis `k`, in elements.
    Tensor position = d_.compute("position", type_, grid_.shape(), [&](Index i) {
      std::vector<Expr> at = i;
      at[1] = Expr(axes() - 1) - i[1];
      return at_component(i[1], [&](int k) { return padded(unnormalized(cast(type_, grid_(at)), k), k); });
    });
    for (int k = 0; k < axes() && a_.padding_mode != "zeros"; ++k) require_element_next(d_, x_.extent(k + 2), result);
    d_.result("result", x_.type(), result, [&](Index i) {
      std::vector<std::vector<Tap>> taps;
      for (int k = 0; k < axes(); ++k) {
        std::vector<Expr> at = i;
        at[1] = Expr(k);
        taps.push_back(taps_at(position(at), k));
      }
      std::vector<Expr> index = {i[0], i[1]};
      return a_.method == "nearest" ? nearest(taps, index) : weighted(taps, index);
    });
    return d_.finish();
  }

 private:
  struct Tap {
    Expr index, weight;
  };

  int axes() const { return x_.rank() - 2; }
  Expr size(int k) const { return Expr(x_.extent(k + 2)); }
  Expr number_of(double value) const { return number(type_, value); }

  // The value for the axis that an expression counts.
  template <class F>
  Expr at_component(Expr axis, const F& value) const {
    Expr chosen = value(axes() - 1);
    for (int k = axes() - 1; k-- > 0;) chosen = select(equal(axis, Expr(k)), value(k), chosen);
    return chosen;
  }

  Expr unnormalized(Expr x, int k) const {
    const Expr one = number_of(1), two = number_of(2), extent = cast(type_, size(k));
    Expr position = a_.align_corners ? (x + one) / two * (extent - one) : ((x + one) * extent - one) / two;
    return a_.method == "nearest" ? round_even(position) : position;
  }

  // The position mirrored at the edges of the image until it is inside.
  Expr reflected(Expr x, int k) const {
    const Expr low = number_of(a_.align_corners ? 0 : -0.5), extent = cast(type_, size(k));
    const Expr range = a_.align_corners ? extent - number_of(1) : extent, period = range * number_of(2);
    Expr distance = abs(x - low);
    distance = distance - period * floor(distance / period);
    return select(logical_and(x >= low, x <= low + range), x, low + min(distance, period - distance));
  }

  // The position after padding, for one outside of the image. The position of a cubic kernel is not moved: each of its
  // taps is padded.
  Expr padded(Expr x, int k) const {
    if (a_.padding_mode == "zeros" || a_.method == "bicubic") return x;
    if (a_.padding_mode == "reflection") return reflected(x, k);
    const Expr low = number_of(a_.align_corners ? 0 : -0.5), extent = cast(type_, size(k));
    const Expr last = extent - number_of(1), high = a_.align_corners ? last : last - low;
    const Expr inside = logical_and(x >= low, x <= high);
    return select(inside, x, max(min(x, last), number_of(0)));
  }

  // The index that the padding gives for one outside; only "zeros" leaves it outside.
  Expr padded_index(Expr position, int k) const {
    if (a_.padding_mode == "zeros") return cast(dtype::i64, position);
    return nearest_index(a_.padding_mode == "reflection" ? reflected(position, k) : position, size(k));
  }

  std::vector<Tap> taps_at(Expr x, int k) const {
    if (a_.method == "nearest") return {{padded_index(x, k), {}}};
    const bool cubic = a_.method == "bicubic";
    const Expr base = floor(x), fraction = x - base;
    std::vector<Tap> taps;
    for (int tap = cubic ? -1 : 0; tap <= (cubic ? 2 : 1); ++tap) {
      const Expr distance = number_of(tap) - fraction;
      taps.push_back(
          {padded_index(base + number_of(tap), k), cubic ? cubic_weight(distance, -0.75) : linear_weight(distance)});
    }
    return taps;
  }

  Expr element(const std::vector<Expr>& index) const {
    return a_.padding_mode == "zeros" ? x_.at_or(index, number(tensor::compute_type(x_.type()), 0)) : x_(index);
  }

  Expr nearest(const std::vector<std::vector<Tap>>& taps, std::vector<Expr> index) const {
    for (const auto& list : taps) index.push_back(list[0].index);
    return element(index);
  }

  // The sum over the taps of the axes from index.size() - 2 on.
  Expr weighted(const std::vector<std::vector<Tap>>& taps, const std::vector<Expr>& index) const {
    const size_t k = index.size() - 2;
    if (k == taps.size()) return cast(type_, element(index));
    Expr sum;
    for (const Tap& tap : taps[k]) {
      std::vector<Expr> next = index;
      next.push_back(tap.index);
      const Expr term = tap.weight * weighted(taps, next);
      sum = sum ? sum + term : term;
    }
    return sum;
  }

  const GridSampleAttrs& a_;
  Definition d_{"image.grid_sample"};
  Tensor x_, grid_;
  DType type_;
};

// ---- affine_grid --------------------------------------------------------------------------------------------------

TypeResult type_of_affine_grid(const AffineGridAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "theta", types::real), check_rank(in[0], "theta", 3)})) return *e;
  Checked<PartialList> sizes = list_value(in, 1, a.target_shape, "target_shape");
  if (auto* e = std::get_if<TypeError>(&sizes)) return *e;
  const PartialList& list = std::get<PartialList>(sizes);
  const auto axes = static_cast<int64_t>(list.size());
  if (auto e = first_of(
          {check_equal(in[0].shape[1], "the number of rows of theta", axes, "that of spatial axes"),
           check_equal(in[0].shape[2], "the number of columns of theta", axes + 1, "that of spatial axes and one")}))
    return *e;
  Shape shape = {in[0].shape[0]};
  if (!a.components_last) shape.emplace_back(axes);
  for (const auto& size : list) shape.push_back(size.value_or(unknown_dim()));
  if (a.components_last) shape.emplace_back(axes);
  return tensor_result(shape, in[0].dtype);
}

TensorFunction define_affine_grid(const AffineGridAttrs& a, const Operands& in, const Shape& result) {
  Definition d("image.affine_grid");
  Tensor theta = d.input("theta", in[0].dtype, in[0].shape);
  const int axes = static_cast<int>(result.size()) - 2;
  const DType type = sampling_type(theta.type());
  const int first = a.components_last ? 1 : 2;  // the first spatial axis
  const int component = a.components_last ? axes + 1 : 1;
  if (in.size() > 1) {
    Tensor sizes = d.input("target_shape", in[1].dtype, in[1].shape);
    for (int k = 0; k < axes; ++k)
      d.require_next([=](Index) { return equal(integer_at(sizes, k), Expr(result[k + first])); },
                     tensor::Status::shape_mismatch);
  }
  auto c = [&](double value) { return number(type, value); };
  d.result("result", theta.type(), result, [&](Index i) {
    auto element = [&](int column) { return cast(type, theta(i[0], i[component], Expr(column))); };
    Expr sum = element(axes);
    for (int column = 0; column < axes; ++column) {
      const int k = first + axes - 1 - column;  // the innermost axis is the first column
      const Expr at = cast(type, i[k]), extent = cast(type, Expr(result[k]));
      const Expr steps = max(extent - c(1), c(1));
      const Expr x = a.align_corners ? c(2) * at / steps - c(1) : (c(2) * at + c(1)) / extent - c(1);
      sum = sum + element(column) * x;
    }
    return sum;
  });
  return d.finish();
}

}  // namespace

void grid_sample(OperatorTable& table) {
  using A = GridSampleAttrs;
  table.add<A>({
      .name = "image.grid_sample",
      .summary = "the data at the positions along axis 1 of the grid, interpolated between neighbours",
      .attributes = {{"method", &A::method, "\"nearest\", \"bilinear\" (also with 3 axes) or \"bicubic\""},
                     {"layout", &A::layout,
                      "order of the data's axes: NCHW or NCDHW, which also serve for other ranks"},
                     {"padding_mode", &A::padding_mode,
                      "outside of the data: \"zeros\", \"border\" (the nearest element) or \"reflection\""},
                     {"align_corners", &A::align_corners,
                      "-1 and 1 are the centres of corners, else their outer edges"}},
      .arguments = {"data", "grid"},
      .type = type_of_grid_sample,
      .compute = [](const A& a,
                    const Operands& in) { return GridSampling(a, in).run(shape_in(type_of_grid_sample(a, in))); },
  });
  table.add<AffineGridAttrs>({
      .name = "image.affine_grid",
      .summary = "the positions that affine maps, one per batch, give to the elements of an image",
      .attributes = {{"target_shape", &AffineGridAttrs::target_shape, "the sizes of the spatial axes", true},
                     {"align_corners", &AffineGridAttrs::align_corners,
                      "-1 and 1 are the centres of corners, else their outer edges"},
                     {"components_last", &AffineGridAttrs::components_last,
                      "a position's components are along the last axis of the result, else along axis 1"}},
      .arguments = {"theta"},
      .values = {"target_shape"},
      .type = type_of_affine_grid,
      .compute_as = define_affine_grid,
      .sizes =
          [](const AffineGridAttrs& a, const Operands& in, const std::vector<Tensor>& v, Definition&) {
            std::vector<Expr> sizes = elements_of(v[0]);
            const Expr axes(static_cast<int64_t>(sizes.size()));
            sizes.insert(a.components_last ? sizes.end() : sizes.begin(), axes);
            sizes.insert(sizes.begin(), Expr(in[0].shape[0]));
            return sizes;
          },
      .sizes_suffice = true,
  });
}

}  // namespace dlcc::relay::ops
