// vision.roi_align, vision.roi_align_indexed (He et al., "Mask R-CNN", 2017) and vision.roi_pool (Girshick, "Fast
// R-CNN", 2015): the mean or maximum of an image over the bins of boxes (regions of interest).
#include "relay/op_support/composition.h"
#include "relay/op_support/resampling.h"
#include "relay/op_support/shape_operands.h"
#include "tensor/statements.h"

namespace dlcc::relay::ops {

namespace {

using tensor::Statements;

struct RoiAlignAttrs {
  std::vector<int64_t> pooled_size;
  double spatial_scale = 1;
  int64_t sample_ratio = 0;
  bool aligned = false;
  std::string mode = "avg";
};
struct RoiPoolAttrs {
  std::vector<int64_t> pooled_size;
  double spatial_scale = 1;
  std::string layout = "NCHW";
};

Failure check_image(const Operand& data, const std::vector<int64_t>& pooled_size) {
  if (auto e = first_of({check_type(data, "data", types::real), check_rank(data, "data", 4)})) return e;
  if (pooled_size.size() != 2) return attribute_error("pooled_size must have 2 numbers");
  return check_positive("pooled_size", pooled_size);
}

// Requires of the next stage, whose first axis counts the boxes, that the box's image exists.
void require_image_next(Definition& d, const std::function<Expr(Expr)>& image, const Dim& images) {
  d.require_next(
      [=](Index i) {
        const Expr at = image(i[0]);
        return logical_and(at >= Expr(0), at < Expr(images));
      },
      tensor::Status::index_out_of_range);
}

// ---- roi_align ----------------------------------------------------------------------------------------------------

TypeResult type_of_roi_align(const RoiAlignAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  if (auto e = check_image(in[0], a.pooled_size)) return *e;
  if (auto e = first_of({check_same_type(in[0], "data", in[1], "rois"), check_rank(in[1], "rois", 2),
                         check_type(in[2], "batch_indices", types::index), check_rank(in[2], "batch_indices", 1)}))
    return *e;
  if (auto e = first_of({check_equal(in[1].shape[1], "the numbers of a box", 4, "its corners' coordinates"),
                         check_equal(in[2].shape[0], "the number of batch_indices", in[1].shape[0], "that of boxes")}))
    return *e;
  if (a.mode != "avg" && a.mode != "max" && a.mode != "max_corner")
    return attribute_error(fmt::format(R"(mode must be "avg", "max" or "max_corner", found "{}")", a.mode));
  if (a.sample_ratio < 0) return attribute_error("sample_ratio must not be negative");
  const Shape shape = {in[1].shape[0], data[1], a.pooled_size[0], a.pooled_size[1]};
  if (product({data[2], data[3]}) == Dim(0) && !(product(shape) == Dim(0)))
    return shape_error("an image of the data has no element to sample");
  return tensor_result(shape, in[0].dtype);
}

class RoiAlign {
 public:
  RoiAlign(const RoiAlignAttrs& a, const Operands& in)
      : a_(a),
        x_(d_.input("data", in[0].dtype, in[0].shape)),
        rois_(d_.input("rois", in[1].dtype, in[1].shape)),
        batch_(d_.input("batch_indices", in[2].dtype, in[2].shape)),
        type_(tensor::compute_type(in[0].dtype)) {}

  TensorFunction run(const Shape& result) { return a_.sample_ratio > 0 ? equal_counts(result) : own_counts(result); }

 private:
  // The bins of a box along one axis: where the first one begins, and the size and number of samples of each.
  struct Bins {
    Expr begin, size, samples;
  };
  // The elements around a sample along one axis, and the weight of the second one.
  struct Neighbours {
    Expr first, second, fraction, inside;
  };

  bool is_mean() const { return a_.mode == "avg"; }
  Expr image(const Expr& box) const { return cast(dtype::i64, batch_(box)); }

  // All bins have the same number of samples.
  TensorFunction equal_counts(const Shape& result) {
    require_image_next(
        d_, [this](Expr box) { return image(std::move(box)); }, x_.extent(0));
    for (int k = 0; k < 2; ++k) require_element_next(d_, x_.extent(k + 2), result);
    const auto reducer = is_mean() ? tensor::sum_of(type_) : tensor::max_of(type_);
    Tensor total = d_.reduce("total", result, reducer, {a_.sample_ratio, a_.sample_ratio}, [&](Index i, Index r) {
      return sample(i, neighbours(bins(i[0], 0), i, r[0], 0), neighbours(bins(i[0], 1), i, r[1], 1));
    });
    const Expr count = cast(type_, Expr(a_.sample_ratio * a_.sample_ratio));
    d_.result("result", x_.type(), result, [&](Index i) { return is_mean() ? total(i) / count : total(i); });
    return d_.finish();
  }

  // The bins of a box have as many samples as pixels.
  TensorFunction own_counts(const Shape& result) {
    Tensor y = d_.declare("result", x_.type(), result);
    Statements s;
    auto box = [&](Index box) {
      const Expr at = s.let("image", image(box[0]));
      s.require(logical_and(at >= Expr(0), at < Expr(x_.extent(0))), tensor::Status::index_out_of_range);
      for (int k = 0; k < 2; ++k)  // a result without elements needs none of the image
        s.require(logical_or(Expr(x_.extent(k + 2)) > Expr(0), equal(Expr(result[1]), Expr(0))),
                  tensor::Status::shape_mismatch);
      const Bins rows = let_bins(s, box[0], 0), columns = let_bins(s, box[0], 1);
      s.loops(Shape(result.begin() + 1, result.end()), [&](Index bin) {
        store_bin(s, y, {box[0], bin[0], bin[1], bin[2]}, rows, columns);
      });
    };
    s.loops({result[0]}, box, tensor::LoopKind::parallel);
    d_.body({y}, s.finish());
    d_.mark_result(y);
    return d_.finish();
  }

  void store_bin(Statements& s, const Tensor& y, const std::vector<Expr>& i, const Bins& rows, const Bins& columns) {
    const Expr zero = number(type_, 0);
    Tensor total = s.local("total", type_);
    s.store(total, {}, is_mean() ? zero : tensor::lowest(type_));
    s.loop("r", rows.samples, [&](Expr r) {
      const Neighbours row = let_neighbours(s, neighbours(rows, i, std::move(r), 0));
      s.loop("c", columns.samples, [&](Expr c) {
        const Expr value = sample(i, row, let_neighbours(s, neighbours(columns, i, std::move(c), 1)));
        s.store(total, {}, is_mean() ? total() + value : max(total(), value));
      });
    });
    const Expr count = rows.samples * columns.samples;
    s.store(y, i, is_mean() ? total() / cast(type_, max(count, Expr(1))) : select(count > Expr(0), total(), zero));
  }

  Bins bins(const Expr& box, int k) const {
    auto corner = [&](bool last) {  // rois have x before y
      const Expr at = rois_(box, Expr((last ? 2 : 0) + 1 - k)) * number(type_, a_.spatial_scale);
      return a_.aligned ? at - number(type_, 0.5) : at;
    };
    Expr extent = corner(true) - corner(false);
    if (!a_.aligned) extent = max(extent, number(type_, 1));
    const Expr size = extent / number(type_, static_cast<double>(a_.pooled_size[k]));
    return {corner(false), size, a_.sample_ratio > 0 ? Expr(a_.sample_ratio) : cast(dtype::i64, ceil(size))};
  }
  // A box of more samples than a run could compute ends the run.
  Bins let_bins(Statements& s, const Expr& box, int k) const {
    const Bins b = bins(box, k);
    const Expr begin = s.let("begin", b.begin), size = s.let("size", b.size), samples = s.let("samples", b.samples);
    s.require(samples <= Expr(most_samples), tensor::Status::index_out_of_range);
    return {begin, size, max(samples, Expr(0))};
  }

  Neighbours neighbours(const Bins& bins, Index i, Expr number_in_bin, int k) const {
    const Expr extent(x_.extent(k + 2));
    const Expr step = (cast(type_, number_in_bin) + number(type_, 0.5)) * bins.size / cast(type_, bins.samples);
    const Expr at = bins.begin + cast(type_, i[k + 2]) * bins.size + step;
    const Expr zero = number(type_, 0), last = cast(type_, extent) - number(type_, 1);
    const Expr clamped = max(min(at, last), zero);
    const Expr first = nearest_index(floor(clamped), extent);
    return {first, max(min(first + Expr(1), extent - Expr(1)), Expr(0)), clamped - floor(clamped),
            logical_and(at >= number(type_, -1), at <= cast(type_, extent))};
  }
  static Neighbours let_neighbours(Statements& s, const Neighbours& n) {
    return {s.let("first", n.first), s.let("second", n.second), s.let("fraction", n.fraction),
            s.let("inside", n.inside)};
  }

  Expr sample(Index i, const Neighbours& y, const Neighbours& x) const {
    const Expr one = number(type_, 1), zero = number(type_, 0);
    auto term = [&](const Expr& row, const Expr& wy, const Expr& column, const Expr& wx) {
      return wy * wx * x_({image(i[0]), i[1], row, column});
    };
    const Expr terms[] = {term(y.first, one - y.fraction, x.first, one - x.fraction),
                          term(y.first, one - y.fraction, x.second, x.fraction),
                          term(y.second, y.fraction, x.first, one - x.fraction),
                          term(y.second, y.fraction, x.second, x.fraction)};
    const Expr value = a_.mode == "max_corner" ? max(max(terms[0], terms[1]), max(terms[2], terms[3]))
                                               : terms[0] + terms[1] + terms[2] + terms[3];
    return select(logical_and(y.inside, x.inside), value, zero);
  }

  static constexpr int64_t most_samples = 1 << 16;  // of a bin along one axis, if boxes decide

  const RoiAlignAttrs& a_;
  Definition d_{"vision.roi_align_indexed"};
  Tensor x_, rois_, batch_;
  DType type_;
};

// ---- boxes with the index of their image, as in TVM

struct BoxAlignAttrs {
  std::vector<int64_t> pooled_size;
  double spatial_scale = 1;
  int64_t sample_ratio = -1;
  std::string layout = "NCHW", mode = "avg";
};

Value align_boxes(const BoxAlignAttrs& a, Composition& c) {
  const Value rois = c.operand(1);
  if (a.mode != "avg" && a.mode != "max")
    c.fail(attribute_error(fmt::format("mode must be \"avg\" or \"max\", found \"{}\"", a.mode)));
  c.require(first_of({check_layout("layout", a.layout, "NCHW"), check_rank(rois.type, "rois", 2)}));
  c.require(check_equal(rois.shape()[1], "the numbers of a box", 5, "its image and its corners' coordinates"));
  auto columns = [&](int64_t begin, int64_t end) {
    return c.call("strided_slice", {rois},
                  {{"begin", std::vector<int64_t>{begin}},
                   {"end", std::vector<int64_t>{end}},
                   {"axes", std::vector<int64_t>{1}}});
  };
  const Value images = c.cast(c.reshape(columns(0, 1), {rois.shape()[0]}), dtype::i64);
  return c.call("vision.roi_align_indexed", {c.operand(0), columns(1, 5), images},
                {{"pooled_size", a.pooled_size},
                 {"spatial_scale", a.spatial_scale},
                 {"sample_ratio", std::max<int64_t>(a.sample_ratio, 0)},
                 {"mode", a.mode}});
}

// ---- roi_pool -----------------------------------------------------------------------------------------------------

TypeResult type_of_roi_pool(const RoiPoolAttrs& a, const Operands& in) {
  if (auto e = check_image(in[0], a.pooled_size)) return *e;
  if (auto e = first_of({check_layout("layout", a.layout, "NCHW"), check_same_type(in[0], "data", in[1], "rois"),
                         check_rank(in[1], "rois", 2)}))
    return *e;
  if (auto e = check_equal(in[1].shape[1], "the numbers of a box", 5, "its image and its corners' coordinates"))
    return *e;
  return tensor_result({in[1].shape[0], in[0].shape[1], a.pooled_size[0], a.pooled_size[1]}, in[0].dtype);
}

TensorFunction define_roi_pool(const RoiPoolAttrs& a, const Operands& in) {
  Definition d("vision.roi_pool");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), rois = d.input("rois", in[1].dtype, in[1].shape);
  const DType type = tensor::compute_type(x.type());
  auto image = [=](Expr box) { return cast(dtype::i64, rois(box, Expr(0))); };
  require_image_next(d, image, x.extent(0));
  auto corner = [&](Expr box, int k, bool last) {  // rounded half up; rois have x before y
    const Expr at = rois(box, Expr((last ? 3 : 1) + 1 - k)) * number(type, a.spatial_scale);
    return floor(at + number(type, 0.5));
  };
  // The first element of bin `b` along axis k, or the one after its last element.
  auto bin_edge = [&](Expr box, Expr b, int k, bool end) {
    const Expr start = corner(box, k, false), one = number(type, 1);
    const Expr extent = max(corner(box, k, true) - start + one, one);
    const Expr size = extent / number(type, static_cast<double>(a.pooled_size[k]));
    const Expr at = end ? ceil((cast(type, b) + one) * size) : floor(cast(type, b) * size);
    return max(min(cast(dtype::i64, at + start), Expr(x.extent(k + 2))), Expr(0));
  };
  const Shape result = shape_in(type_of_roi_pool(a, in));
  Tensor largest = d.reduce("largest", result, tensor::max_of(type), {x.extent(2), x.extent(3)}, [&](Index i, Index r) {
    const Expr inside = all_of({r[0] >= bin_edge(i[0], i[2], 0, false), r[0] < bin_edge(i[0], i[2], 0, true),
                                r[1] >= bin_edge(i[0], i[3], 1, false), r[1] < bin_edge(i[0], i[3], 1, true)});
    return select(inside, x(image(i[0]), i[1], r[0], r[1]), tensor::lowest(type));
  });
  d.result("result", x.type(), result, [&](Index i) {
    const Expr empty = logical_or(bin_edge(i[0], i[2], 0, true) <= bin_edge(i[0], i[2], 0, false),
                                  bin_edge(i[0], i[3], 1, true) <= bin_edge(i[0], i[3], 1, false));
    return select(empty, number(type, 0), largest(i));
  });
  return d.finish();
}

}  // namespace

void roi(OperatorTable& table) {
  using A = RoiAlignAttrs;
  table.add<A>({
      .name = "vision.roi_align_indexed",
      .summary = "the mean or maximum of interpolated samples in the bins of boxes (x0, y0, x1, y1)",
      .attributes =
          {{"pooled_size", &A::pooled_size, "bins along y and x", true},
           {"spatial_scale", &A::spatial_scale, "pixels of the data per unit of a box's coordinates"},
           {"sample_ratio", &A::sample_ratio, "samples of a bin along each axis; 0: one per pixel"},
           {"aligned", &A::aligned, "coordinates count from the outer edge of pixels, not from their centres"},
           {"mode", &A::mode,
            "\"avg\": the mean of a bin's samples; \"max\": the largest one; \"max_corner\": the largest product of a "
            "pixel and its weight in a sample, as in ONNX"}},
      .arguments = {"data", "rois", "batch_indices"},
      .type = type_of_roi_align,
      .compute = [](const A& a, const Operands& in) { return RoiAlign(a, in).run(shape_in(type_of_roi_align(a, in))); },
  });
  using B = BoxAlignAttrs;
  table.add(composed<B>(
      {.name = "vision.roi_align",
       .summary = "the mean or maximum of interpolated samples in the bins of boxes (image, x0, y0, x1, y1)",
       .attributes = {{"pooled_size", &B::pooled_size, "bins along y and x", true},
                      {"spatial_scale", &B::spatial_scale, "pixels of the data per unit of a box's coordinates"},
                      {"sample_ratio", &B::sample_ratio,
                       "samples of a bin along each axis; not positive: one per pixel"},
                      {"layout", &B::layout, "order of the data's axes"},
                      {"mode", &B::mode, "\"avg\" or \"max\""}},
       .arguments = {"data", "rois"}},
      align_boxes));
  table.add<RoiPoolAttrs>({
      .name = "vision.roi_pool",
      .summary = "the maximum of the pixels in the bins of boxes (image, x0, y0, x1, y1); 0 for bins without pixels",
      .attributes = {{"pooled_size", &RoiPoolAttrs::pooled_size, "bins along y and x", true},
                     {"spatial_scale", &RoiPoolAttrs::spatial_scale,
                      "pixels of the data per unit of a box's coordinates"},
                     {"layout", &RoiPoolAttrs::layout, "order of the data's axes"}},
      .arguments = {"data", "rois"},
      .type = type_of_roi_pool,
      .compute = define_roi_pool,
  });
}

}  // namespace dlcc::relay::ops
