// nn.col2im: columns of window taps added up to an image, the inverse of im2col. Each element gathers the taps that
// cover it.
#include "relay/op_support/indices.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct Col2ImAttrs {
  std::vector<Dim> image_shape, block_shape;
  std::vector<int64_t> strides = {}, padding = {}, dilation = {};

  // The attributes with the defaults for `rank` axes in place of empty lists.
  Col2ImAttrs complete(size_t rank) const {
    Col2ImAttrs a = *this;
    if (a.strides.empty()) a.strides.assign(rank, 1);
    if (a.dilation.empty()) a.dilation.assign(rank, 1);
    if (a.padding.empty()) a.padding.assign(2 * rank, 0);
    return a;
  }
};

TypeResult type_of_col2im(const Col2ImAttrs& attrs, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", types::number), check_rank(in[0], "data", 3),
                         check_positive("strides", attrs.strides), check_positive("dilation", attrs.dilation)}))
    return *e;
  auto image = list_value(in, 1, attrs.image_shape, "image_shape"),
       block = list_value(in, 2, attrs.block_shape, "block_shape");
  for (auto* list : {&image, &block})
    if (auto* e = std::get_if<TypeError>(list)) return *e;
  const PartialList &sizes = std::get<PartialList>(image), &taps = std::get<PartialList>(block);
  const size_t rank = sizes.size();
  const Col2ImAttrs a = attrs.complete(rank);
  if (taps.size() != rank || a.strides.size() != rank || a.dilation.size() != rank || a.padding.size() != 2 * rank)
    return attribute_error(fmt::format(
        "block_shape, strides and dilation must have {} numbers, as image_shape has, and padding twice as many", rank));
  Dim channels = in[0].shape[1];
  for (const auto& size : taps) {
    if (!size) return tensor_result(Shape(rank + 2, unknown_dim()), in[0].dtype);
    const Dim rest = floor_mod(channels, *size);  // a run checks a rest that is not known
    if (rest.is_constant() && !(rest == Dim(0)))
      return shape_error(fmt::format("{} channels are not divisible by a block of shape {}", in[0].shape[1].str(),
                                     str(a.block_shape)));
    channels = floor_div(channels, *size);
  }
  Shape shape = {in[0].shape[0], channels};
  for (const auto& size : sizes) shape.push_back(size.value_or(unknown_dim()));
  return tensor_result(shape, in[0].dtype);
}

// The number of windows along an axis with `taps` taps.
Expr windows(const Col2ImAttrs& a, size_t k, const Dim& extent, Expr taps) {
  Expr room = Expr(extent + Dim(a.padding[k] + a.padding[k + a.strides.size()])) -
              ((taps - Expr(1)) * Expr(a.dilation[k]) + Expr(1));
  return floor_div(room, Expr(a.strides[k])) + Expr(1);
}

TensorFunction define_col2im(const Col2ImAttrs& attrs, const Operands& in, const Shape& result) {
  Definition d("nn.col2im");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const bool operands = in.size() > 1;
  Tensor image = operands ? d.input("image_shape", in[1].dtype, in[1].shape) : Tensor();
  Tensor block = operands ? d.input("block_shape", in[2].dtype, in[2].shape) : Tensor();
  const size_t rank = result.size() - 2;
  const Col2ImAttrs a = attrs.complete(rank);
  std::vector<Expr> taps, counts;
  Expr all_taps(1), all_windows(1);
  for (size_t k = 0; k < rank; ++k) {
    taps.push_back(operands ? max(integer_at(block, static_cast<int64_t>(k)), Expr(1)) : Expr(a.block_shape[k]));
    counts.push_back(windows(a, k, result[k + 2], taps[k]));
    all_taps = all_taps * taps[k];
    all_windows = all_windows * counts[k];
    if (operands)
      d.require_next([=](Index) { return equal(integer_at(image, static_cast<int64_t>(k)), Expr(result[k + 2])); },
                     tensor::Status::shape_mismatch);
  }
  d.require_next(
      [=](Index) {
        return logical_and(equal(all_taps * Expr(result[1]), Expr(x.extent(1))), equal(all_windows, Expr(x.extent(2))));
      },
      tensor::Status::shape_mismatch);
  const DType type = tensor::compute_type(x.type());
  const Dim reduced = floor_div(x.extent(1), result[1]);
  d.reduce_result("result", x.type(), result, tensor::sum_of(type), {reduced}, [&](Index i, Index r) {
    Expr rest = r[0], column(0), stride(1), covered = tensor::literal(dtype::boolean, int64_t{1});
    for (size_t k = rank; k-- > 0;) {
      const Expr tap = k == 0 ? rest : floor_mod(rest, taps[k]);
      rest = floor_div(rest, taps[k]);
      const Expr begin = i[k + 2] + Expr(a.padding[k]) - tap * Expr(a.dilation[k]);
      const Expr window = floor_div(begin, Expr(a.strides[k]));
      covered = logical_and(covered, logical_and(equal(window * Expr(a.strides[k]), begin),
                                                 logical_and(window >= Expr(0), window < counts[k])));
      column = column + window * stride;
      stride = stride * counts[k];
    }
    const Expr at = select(covered, column, Expr(-1));
    return x.at_or({i[0], i[1] * Expr(reduced) + r[0], at}, number(type, 0));
  });
  return d.finish();
}

}  // namespace

void col2im(OperatorTable& table) {
  using A = Col2ImAttrs;
  table.add<A>({
      .name = "nn.col2im",
      .summary = "an image whose elements are sums of the window taps that cover them",
      .attributes = {{"image_shape", &A::image_shape, "sizes of the spatial axes", true},
                     {"block_shape", &A::block_shape, "taps of a window per spatial axis", true},
                     {"strides", &A::strides, "step between windows, per spatial axis; 1 if empty"},
                     {"padding", &A::padding, "around the image: all before and then all after; 0 if empty"},
                     {"dilation", &A::dilation, "step between the taps of a window; 1 if empty"}},
      .arguments = {"data"},
      .values = {"image_shape", "block_shape"},
      .type = type_of_col2im,
      .compute_as = define_col2im,
      .sizes =
          [](const A&, const Operands& in, const std::vector<Tensor>& v, Definition&) {
            Expr channels(in[0].shape[1]);
            for (const Expr& taps : elements_of(v[1])) channels = floor_div(channels, max(taps, Expr(1)));
            std::vector<Expr> sizes = {Expr(in[0].shape[0]), channels};
            for (const Expr& size : elements_of(v[0])) sizes.push_back(size);
            return sizes;
          },
  });
}

}  // namespace dlcc::relay::ops
