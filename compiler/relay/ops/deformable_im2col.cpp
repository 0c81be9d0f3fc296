// nn.deformable_im2col: the taps of convolution windows, each moved by an offset of its own (Zhu et al., "Deformable
// ConvNets v2", CVPR 2019). A 1×1 convolution of the taps is a deformable convolution.
#include "relay/op_support/windows.h"

namespace dlcc::relay::ops {

namespace {

struct DeformableAttrs {
  std::vector<int64_t> kernel_size, strides = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t deformable_groups = 1;
};

// The windows of the two spatial axes, and their numbers.
struct Taps {
  std::vector<Window> windows;
  Shape counts;
};

Checked<Taps> taps_of(const DeformableAttrs& a, const Shape& data) {
  auto windows = make_windows(a.kernel_size, a.strides, a.dilation, a.padding);
  if (auto* e = std::get_if<TypeError>(&windows)) return *e;
  Taps taps{std::get<0>(windows), {}};
  for (int k = 0; k < 2; ++k) {
    auto count = window_count(data[k + 2], taps.windows[k], false, k);
    if (auto* e = std::get_if<TypeError>(&count)) return *e;
    taps.counts.push_back(std::get<Dim>(count));
  }
  return taps;
}

TypeResult type_of_deformable(const DeformableAttrs& a, const Operands& in) {
  const Shape& data = in[0].shape;
  if (auto e = first_of({check_type(in[0], "data", types::real), check_rank(in[0], "data", 4),
                         check_same_type(in[0], "data", in[1], "offset"), check_rank(in[1], "offset", 4),
                         check_same_type(in[0], "data", in[2], "mask"), check_rank(in[2], "mask", 4),
                         check_positive("deformable_groups", {a.deformable_groups})}))
    return *e;
  if (a.kernel_size.size() != 2) return attribute_error("kernel_size must have 2 numbers");
  auto taps = taps_of(a, data);
  if (auto* e = std::get_if<TypeError>(&taps)) return *e;
  const Shape& counts = std::get<Taps>(taps).counts;
  const Dim positions = Dim(a.kernel_size[0]) * Dim(a.kernel_size[1]);
  if (!(floor_mod(data[1], Dim(a.deformable_groups)) == Dim(0)))
    return shape_error(
        fmt::format("{} channels cannot be divided into {} deformable groups", data[1].str(), a.deformable_groups));
  for (size_t k : {1, 2}) {
    const Shape expected = {data[0], positions * Dim(3 - static_cast<int64_t>(k)) * Dim(a.deformable_groups), counts[0],
                            counts[1]};
    for (size_t axis = 0; axis < 4; ++axis)
      if (auto e = check_equal(in[k].shape[axis], fmt::format("axis {} of the {}", axis, k == 1 ? "offset" : "mask"),
                               expected[axis], fmt::format("that of the shape {} for these windows", str(expected))))
        return *e;
  }
  return tensor_result({data[0], data[1] * positions, counts[0], counts[1]}, in[0].dtype);
}

TensorFunction define_deformable(const DeformableAttrs& a, const Operands& in) {
  Definition d("nn.deformable_im2col");
  Tensor x = d.input("data", in[0].dtype, in[0].shape), offset = d.input("offset", in[1].dtype, in[1].shape),
         mask = d.input("mask", in[2].dtype, in[2].shape);
  const Taps taps = std::get<Taps>(taps_of(a, x.shape()));
  const DType type = tensor::compute_type(x.type());
  const int64_t width = a.kernel_size[1], positions = a.kernel_size[0] * width;
  const Expr group_size(floor_div(x.extent(1), Dim(a.deformable_groups)));
  const Expr zero = number(type, 0);
  d.result("result", x.type(), shape_in(type_of_deformable(a, in)), [&](Index i) {
    const Expr channel = floor_div(i[1], Expr(positions)), tap = floor_mod(i[1], Expr(positions));
    const Expr moved = floor_div(channel, group_size) * Expr(positions) + tap;  // index of the tap, over all groups
    const Expr position[] = {floor_div(tap, Expr(width)), floor_mod(tap, Expr(width))};
    Expr base[2], fraction[2];
    for (int k = 0; k < 2; ++k) {
      const Expr at = cast(type, taps.windows[k].position(i[k + 2], position[k])) +
                      offset(i[0], moved * Expr(2) + Expr(k), i[2], i[3]);
      fraction[k] = at - floor(at);
      base[k] = cast(dtype::i64, floor(at));
    }
    auto corner = [&](int y, int column) {
      const Expr wy = y ? fraction[0] : number(type, 1) - fraction[0];
      const Expr wx = column ? fraction[1] : number(type, 1) - fraction[1];
      return wy * wx * x.at_or({i[0], channel, base[0] + Expr(y), base[1] + Expr(column)}, zero);
    };
    return (corner(0, 0) + corner(0, 1) + corner(1, 0) + corner(1, 1)) * mask(i[0], moved, i[2], i[3]);
  });
  return d.finish();
}

}  // namespace

void deformable_im2col(OperatorTable& table) {
  using A = DeformableAttrs;
  table.add<A>({
      .name = "nn.deformable_im2col",
      .summary = "the taps of convolution windows, each moved by an offset and multiplied by a mask, as channels",
      .attributes = {{"kernel_size", &A::kernel_size, "taps per spatial axis", true},
                     {"strides", &A::strides, "step between windows, per spatial axis"},
                     {"padding", &A::padding, "zeros around the data: all before and then all after"},
                     {"dilation", &A::dilation, "step between the taps of a window"},
                     {"deformable_groups", &A::deformable_groups, "groups of channels that share their offsets"}},
      .arguments = {"data", "offset", "mask"},
      .type = type_of_deformable,
      .compute = define_deformable,
  });
}

}  // namespace dlcc::relay::ops
