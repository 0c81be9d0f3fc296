// nn.bitpack, nn.bitserial_conv2d, nn.bitserial_dense: integers of a few bits, packed bit by bit. They have a type
// only.
#include "relay/op_support/type_checks.h"
#include "relay/op_support/windows.h"

namespace dlcc::relay::ops {

namespace {

struct BitPackAttrs {
  int64_t bits = 1, pack_axis = 1, bit_axis = -1;
  DType pack_type = dtype::u32;
  std::string name = "BitPack";
};
struct BitserialConvAttrs {
  std::vector<int64_t> strides = {1, 1}, padding = {0, 0}, kernel_size = {3, 3};
  std::optional<int64_t> channels;
  int64_t activation_bits = 1, weight_bits = 1;
  std::string data_layout = "NCHW", kernel_layout = "OIHW";
  DType pack_dtype = dtype::u32;
  std::optional<DType> out_dtype;
  bool unipolar = true;
};
struct BitserialDenseAttrs {
  int64_t units = 0, data_bits = 1, weight_bits = 1;
  DType pack_dtype = dtype::u32;
  std::optional<DType> out_dtype;
  bool unipolar = true;
};

// The axis `pack_axis` counts packed integers. The bits of an element are along a new axis, before `bit_axis`.
TypeResult type_of_bitpack(const BitPackAttrs& a, const Operands& in) {
  const int rank = static_cast<int>(in[0].shape.size());
  if (auto e = first_of({check_type(in[0], "data", types::integer), check_axis("pack_axis", a.pack_axis, rank),
                         check_axis("bit_axis", a.bit_axis, rank + 1), check_positive("bits", {a.bits}),
                         check_type({{}, a.pack_type}, "pack_type", types::integer)}))
    return *e;
  Shape shape = in[0].shape;
  Dim& packed = shape[wrap_axis(a.pack_axis, rank)];
  packed = floor_div(packed, Dim(bits(a.pack_type)));
  shape.insert(shape.begin() + wrap_axis(a.bit_axis, rank + 1), Dim(a.bits));
  return tensor_result(shape, a.pack_type);
}

TypeResult type_of_bitserial_conv(const BitserialConvAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", types::integer), check_rank(in[0], "data", 4),
                         check_type(in[1], "weight", types::integer)}))
    return *e;
  if (a.data_layout != "NCHW" && a.data_layout != "NHWC")
    return attribute_error(fmt::format("data_layout must be \"NCHW\" or \"NHWC\", found \"{}\"", a.data_layout));
  if (!a.channels) return attribute_error("attribute 'channels' is missing");
  if (a.kernel_size.size() != 2) return attribute_error("kernel_size must have 2 numbers");
  const auto windows = make_windows(a.kernel_size, a.strides, {1, 1}, a.padding);
  if (auto* e = std::get_if<TypeError>(&windows)) return *e;
  const int first = a.data_layout == "NCHW" ? 2 : 1;
  Shape shape = in[0].shape;
  shape[first == 2 ? 1 : 3] = *a.channels;
  for (int k = 0; k < 2; ++k) {
    const auto count = window_count(shape[first + k], std::get<0>(windows)[k], false, k);
    if (auto* e = std::get_if<TypeError>(&count)) return *e;
    shape[first + k] = std::get<Dim>(count);
  }
  return tensor_result(shape, a.out_dtype.value_or(in[0].dtype));
}

TypeResult type_of_bitserial_dense(const BitserialDenseAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", types::integer), check_type(in[1], "weight", types::integer),
                         check_positive("units", {a.units})}))
    return *e;
  if (in[0].shape.empty()) return shape_error("data must have an axis");
  Shape shape = in[0].shape;
  shape.back() = a.units;
  return tensor_result(shape, a.out_dtype.value_or(in[0].dtype));
}

}  // namespace

void bitserial(OperatorTable& table) {
  using P = BitPackAttrs;
  table.add<P>({.name = "nn.bitpack",
                .summary = "bits of the elements, packed into integers along one axis",
                .attributes = {{"bits", &P::bits, "bits of an element"},
                               {"pack_axis", &P::pack_axis, "the axis along which bits are packed"},
                               {"bit_axis", &P::bit_axis, "the new axis that counts the bits of an element"},
                               {"pack_type", &P::pack_type, "the type of packed integers"},
                               {"name", &P::name, "a name, without meaning"}},
                .arguments = {"data"},
                .type = type_of_bitpack});
  using C = BitserialConvAttrs;
  table.add<C>({.name = "nn.bitserial_conv2d",
                .summary = "a convolution of integers of a few bits",
                .attributes = {{"strides", &C::strides, "step between windows, per spatial axis"},
                               {"padding", &C::padding, "zeros around the data"},
                               {"channels", &C::channels, "number of output channels"},
                               {"kernel_size", &C::kernel_size, "taps per spatial axis"},
                               {"activation_bits", &C::activation_bits, "bits of an element of the data"},
                               {"weight_bits", &C::weight_bits, "bits of an element of the weight"},
                               {"data_layout", &C::data_layout, "order of the data's axes: NCHW or NHWC"},
                               {"kernel_layout", &C::kernel_layout, "order of the weight's axes"},
                               {"pack_dtype", &C::pack_dtype, "the type of packed integers"},
                               {"out_dtype", &C::out_dtype, "the result's element type; the data's if None"},
                               {"unipolar", &C::unipolar, "bits of the weight are 0 and 1, else -1 and 1"}},
                .arguments = {"data", "weight"},
                .type = type_of_bitserial_conv});
  using D = BitserialDenseAttrs;
  table.add<D>({.name = "nn.bitserial_dense",
                .summary = "a product of matrices of integers of a few bits",
                .attributes = {{"units", &D::units, "the number of columns of the result", true},
                               {"data_bits", &D::data_bits, "bits of an element of the data"},
                               {"weight_bits", &D::weight_bits, "bits of an element of the weight"},
                               {"pack_dtype", &D::pack_dtype, "the type of packed integers"},
                               {"out_dtype", &D::out_dtype, "the result's element type; the data's if None"},
                               {"unipolar", &D::unipolar, "bits of the weight are 0 and 1, else -1 and 1"}},
                .arguments = {"data", "weight"},
                .type = type_of_bitserial_dense});
}

}  // namespace dlcc::relay::ops
