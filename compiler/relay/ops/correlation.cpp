// nn.correlation, image.dilation2d, image.crop_and_resize: sums, maxima and samples around the pixels of images.
#include "relay/op_support/composition.h"
#include "relay/op_support/resampling.h"
#include "relay/op_support/windows.h"

namespace dlcc::relay::ops {

namespace {

struct CorrelationAttrs {
  int64_t kernel_size = 1, max_displacement = 1, stride1 = 1, stride2 = 1;
  std::vector<int64_t> padding = {0, 0};
  bool is_multiply = true;
  std::string layout = "NCHW";
};
struct DilationAttrs {
  std::vector<int64_t> strides = {1, 1}, padding = {0, 0}, dilations = {1, 1};
  std::string data_layout = "NCHW", kernel_layout = "IHW";
  std::optional<DType> out_dtype;
};
struct CropAttrs {
  std::vector<int64_t> crop_size;
  std::string layout = "NCHW", method = "bilinear";
  double extrapolation_value = 0;
  std::optional<DType> out_dtype;
};

// ---- correlation

void check_correlation(const CorrelationAttrs& a, const Composition& c) {
  const Value x = c.operand(0), y = c.operand(1);
  c.require(first_of({check_type(x.type, "data1", types::real), check_same_type(x.type, "data1", y.type, "data2"),
                      check_rank(x.type, "data1", 4), check_rank(y.type, "data2", 4),
                      check_layout("layout", a.layout, "NCHW"), check_positive("kernel_size", {a.kernel_size}),
                      check_positive("stride1", {a.stride1}), check_positive("stride2", {a.stride2})}));
  for (int k = 0; k < 4; ++k)
    c.require(check_equal(y.shape()[k], fmt::format("axis {} of data2", k), x.shape()[k],
                          fmt::format("axis {} of data1", k)));
  if (a.max_displacement < 0) c.fail(attribute_error("max_displacement must not be negative"));
  if (a.kernel_size % 2 == 0) c.fail(attribute_error("kernel_size must be odd"));
}

// Each channel of the result is the mean over a window and the channels of the products (or differences) of the first
// image and the second one, moved by one displacement (Dosovitskiy et al., "FlowNet", ICCV 2015, section 3).
Value correlation_of(const CorrelationAttrs& a, Composition& c) {
  check_correlation(a, c);
  const Value x = c.operand(0), y = c.operand(1);
  const int64_t radius = (a.kernel_size - 1) / 2, border = a.max_displacement + radius;
  const int64_t steps = a.max_displacement / a.stride2, width = 2 * steps + 1;
  const auto windows = make_windows({1, 1}, {1, 1}, {1, 1}, a.padding);
  if (auto* e = std::get_if<TypeError>(&windows)) c.fail(*e);
  const std::vector<Window> pads = std::get<0>(windows);
  Shape shape = {x.shape()[0], width * width};
  for (int k = 0; k < 2; ++k) {
    const Dim inner = x.shape()[k + 2] + Dim(pads[k].before + pads[k].after - 2 * border);
    if (!provably_le(1, inner))
      c.fail(shape_error(fmt::format("no window fits spatial axis {} of size {}", k, x.shape()[k + 2].str())));
    shape.push_back(floor_div(inner + Dim(a.stride1 - 1), Dim(a.stride1)));
  }
  const DType type = tensor::compute_type(x.dtype());
  const Shape extents = {x.shape()[1], a.kernel_size, a.kernel_size};
  const Value total = c.sum(type, shape, extents, {x, y}, [=](const std::vector<Tensor>& args, Index i, Index r) {
    const Expr displacement[] = {floor_div(i[1], Expr(width)), floor_mod(i[1], Expr(width))};
    std::vector<Expr> first = {i[0], r[0]}, second = first;
    for (size_t k = 0; k < 2; ++k) {
      first.push_back(i[k + 2] * Expr(a.stride1) + r[k + 1] + Expr(a.max_displacement - pads[k].before));
      second.push_back(first.back() + (displacement[k] - Expr(steps)) * Expr(a.stride2));
    }
    const Expr zero = number(type, 0), u = args[0].at_or(first, zero), v = args[1].at_or(second, zero);
    return a.is_multiply ? u * v : abs(u - v);
  });
  return c.compute(x.dtype(), shape, {total}, [=](const std::vector<Tensor>& args, Index i) {
    return args[0](i) / cast(type, Expr(extents[0] * extents[1] * extents[2]));
  });
}

// ---- dilation2d

// The largest sums of elements of a window and the weight's elements; the padding has elements 0, as in TVM.
Value morphological_dilation(const DilationAttrs& a, Composition& c) {
  Value x = c.operand(0), weight = c.operand(1);
  c.require(first_of({check_type(x.type, "data", types::real), check_same_type(x.type, "data", weight.type, "weight"),
                      check_rank(x.type, "data", 4), check_rank(weight.type, "weight", 3)}));
  const bool last = a.data_layout == "NHWC";
  if (!last) c.require(check_layout("data_layout", a.data_layout, "NCHW"));
  c.require(check_layout("kernel_layout", a.kernel_layout, last ? "HWI" : "IHW"));
  if (last) x = c.transpose(x, {0, 3, 1, 2});
  if (last) weight = c.transpose(weight, {2, 0, 1});
  c.require(check_equal(weight.shape()[0], "the weight's channels", x.shape()[1], "the data's channels"));
  const Shape taps = {weight.shape()[1], weight.shape()[2]};
  if (!is_static(taps))
    c.fail(
        {DiagnosticId::dynamic_shape, fmt::format("the kernel size {} must be known at compile time", str(taps)), ""});
  const auto checked = make_windows(static_shape(taps), a.strides, a.dilations, a.padding);
  if (auto* e = std::get_if<TypeError>(&checked)) c.fail(*e);
  const std::vector<Window> windows = std::get<0>(checked);
  Shape shape = {x.shape()[0], x.shape()[1]};
  for (int k = 0; k < 2; ++k) {
    const auto count = window_count(x.shape()[k + 2], windows[k], false, k);
    if (auto* e = std::get_if<TypeError>(&count)) c.fail(*e);
    shape.push_back(std::get<Dim>(count));
  }
  const DType type = tensor::compute_type(x.dtype());
  const Value result = c.reduce(
      a.out_dtype.value_or(x.dtype()), shape, tensor::max_of(type), taps, {x, weight},
      [=](const std::vector<Tensor>& args, Index i, Index r) {
        const std::vector<Expr> at = {i[0], i[1], windows[0].position(i[2], r[0]), windows[1].position(i[3], r[1])};
        return args[0].at_or(at, number(type, 0)) + args[1](i[1], r[0], r[1]);
      });
  return last ? c.transpose(result, {0, 2, 3, 1}) : result;
}

// ---- crop_and_resize

// The sizes of the images, which must have pixels if there are boxes.
std::vector<Dim> sizes_of_images(const CropAttrs& a, const Operands& in) {
  if (in[1].shape[0] == Dim(0)) return {};
  const Shape& data = in[0].shape;
  return a.layout == "NHWC" ? Shape{data[0], data[1], data[2]} : Shape{data[0], data[2], data[3]};
}

Value cropped(const CropAttrs& a, Composition& c) {
  Value x = c.operand(0);
  const Value boxes = c.operand(1), images = c.operand(2);
  c.require(first_of({check_type(x.type, "data", types::number), check_rank(x.type, "data", 4),
                      check_type(boxes.type, "boxes", types::real), check_rank(boxes.type, "boxes", 2),
                      check_type(images.type, "box_indices", types::index), check_rank(images.type, "box_indices", 1),
                      check_positive("crop_size", a.crop_size)}));
  c.require(check_equal(boxes.shape()[1], "the numbers of a box", 4, "those of its corners (y, x, y, x)"));
  c.require(check_equal(images.shape()[0], "the number of box_indices", boxes.shape()[0], "that of boxes"));
  if (a.crop_size.size() != 2) c.fail(attribute_error("crop_size must have 2 numbers"));
  if (a.method != "bilinear" && a.method != "nearest_neighbor")
    c.fail(attribute_error(fmt::format("method must be \"bilinear\" or \"nearest_neighbor\", found \"{}\"", a.method)));
  const bool last = a.layout == "NHWC";
  if (!last) c.require(check_layout("layout", a.layout, "NCHW"));
  if (product(sizes_of_images(a, {x.type, boxes.type})) == Dim(0))
    c.fail(out_of_range_error("the data has no pixels for the boxes", "data and boxes may be empty only together"));
  if (last) x = c.transpose(x, {0, 3, 1, 2});
  const DType type = sampling_type(x.dtype());
  const Shape shape = {boxes.shape()[0], x.shape()[1], a.crop_size[0], a.crop_size[1]};
  const Dim batch = x.shape()[0];
  auto position = [=](const std::vector<Tensor>& args, Index i, int k) {
    const Expr low = cast(type, args[1](i[0], Expr(k))), high = cast(type, args[1](i[0], Expr(k + 2)));
    const Expr extent = cast(type, Expr(args[0].extent(k + 2)) - Expr(1));
    const int64_t steps = a.crop_size[static_cast<size_t>(k)] - 1;
    if (steps == 0) return (low + high) * number(type, 0.5) * extent;
    return low * extent + cast(type, i[k + 2]) * (high - low) * extent / number(type, static_cast<double>(steps));
  };
  const Value result = c.compute(
      a.out_dtype.value_or(x.dtype()), shape, {x, boxes, images}, [=](const std::vector<Tensor>& args, Index i) {
        const Expr image = max(min(cast(dtype::i64, args[2](i[0])), Expr(batch) - Expr(1)), Expr(0));
        std::vector<Expr> inside, at;
        for (int k = 0; k < 2; ++k) {
          const Expr y = position(args, i, k), end = cast(type, Expr(args[0].extent(k + 2)) - Expr(1));
          inside.push_back(y >= number(type, 0));
          inside.push_back(y <= end);
          at.push_back(y);
        }
        auto element = [&](const Expr& y, const Expr& column) {
          return cast(type, args[0](image, i[1], nearest_index(y, Expr(args[0].extent(2))),
                                    nearest_index(column, Expr(args[0].extent(3)))));
        };
        const Expr one = number(type, 1);
        Expr value;
        if (a.method == "bilinear") {
          const Expr y = floor(at[0]), column = floor(at[1]), fy = at[0] - y, fx = at[1] - column;
          const Expr top = element(y, column) * (one - fx) + element(y, column + one) * fx;
          const Expr bottom = element(y + one, column) * (one - fx) + element(y + one, column + one) * fx;
          value = top * (one - fy) + bottom * fy;
        } else {
          value = element(round_even(at[0]), round_even(at[1]));
        }
        return select(all_of(inside), value, number(type, a.extrapolation_value));
      });
  return last ? c.transpose(result, {0, 2, 3, 1}) : result;
}

}  // namespace

void correlation(OperatorTable& table) {
  using A = CorrelationAttrs;
  table.add(composed<A>(
      {.name = "nn.correlation",
       .summary = "the correlation of windows of two images, for each displacement of the second one",
       .attributes = {{"kernel_size", &A::kernel_size, "rows and columns of a window"},
                      {"max_displacement", &A::max_displacement, "the largest displacement along each axis"},
                      {"stride1", &A::stride1, "the step between windows"},
                      {"stride2", &A::stride2, "the step between displacements"},
                      {"padding", &A::padding, "zeros around the images"},
                      {"is_multiply", &A::is_multiply, "products of elements, else their absolute differences"},
                      {"layout", &A::layout, "order of the axes"}},
       .arguments = {"data1", "data2"}},
      correlation_of));
  using D = DilationAttrs;
  table.add(composed<D>({.name = "image.dilation2d",
                         .summary = "morphological dilation: the largest sum of an element of a window and its weight",
                         .attributes = {{"strides", &D::strides, "step between windows"},
                                        {"padding", &D::padding, "zeros around the data"},
                                        {"dilations", &D::dilations, "step between the taps of a window"},
                                        {"data_layout", &D::data_layout, "order of the data's axes: NCHW or NHWC"},
                                        {"kernel_layout", &D::kernel_layout, "that of the weight's: IHW or HWI"},
                                        {"out_dtype", &D::out_dtype, "the result's element type; the data's if None"}},
                         .arguments = {"data", "weight"},
                         .sample_shapes = {{1, 2, 4, 4}, {2, 2, 2}}},
                        morphological_dilation));
  using C = CropAttrs;
  OperatorSpec<C> crops =
      composed<C>({.name = "image.crop_and_resize",
                   .summary = "boxes of images, given by corners (y, x, y, x) of which 1 is the last pixel",
                   .attributes = {{"crop_size", &C::crop_size, "rows and columns of the results", true},
                                  {"layout", &C::layout, "order of the data's axes: NCHW or NHWC"},
                                  {"method", &C::method, "\"bilinear\" or \"nearest_neighbor\""},
                                  {"extrapolation_value", &C::extrapolation_value, "the value outside of an image"},
                                  {"out_dtype", &C::out_dtype, "the result's element type; the data's if None"}},
                   .arguments = {"data", "boxes", "box_indices"},
                   .sample_shapes = {{1, 2, 4, 4}, {3, 4}, {3}},
                   .sample_attrs = {{"crop_size", std::vector<int64_t>{2, 2}}}},
                  cropped);
  crops.positive_sizes = sizes_of_images;
  table.add(std::move(crops));
}

}  // namespace dlcc::relay::ops
