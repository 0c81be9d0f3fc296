// nn.contrib_*, qnn.contrib_dense_pack: convolutions and products whose operands passes of TVM have stored in blocks or
// transformed for a target, and the transformations. They have a type only.
#include <algorithm>

#include "relay/attr_structs.h"
#include "relay/op_support/block_layouts.h"
#include "relay/op_support/windows.h"

namespace dlcc::relay::ops {

namespace {

// ---- convolutions

struct PackedConvAttrs : ConvAttrs {
  int64_t tile_size = 0;
};

PackedConvAttrs packed_defaults(int rank) {
  PackedConvAttrs a;
  a.strides.assign(rank, 1);
  a.dilation.assign(rank, 1);
  a.padding.assign(rank, 0);
  a.data_layout = rank == 2 ? "NCHW" : "NCDHW";
  a.kernel_layout = rank == 2 ? "OIHW" : "OIDHW";
  return a;
}

// The layout of an image of `rank` spatial axes.
Checked<BlockLayout> image_layout(const char* attribute, const std::string& text, int rank) {
  auto layout = parse_block_layout(attribute, text);
  const BlockLayout* parsed = std::get_if<BlockLayout>(&layout);
  AxisSizes axes;
  for (const char c : packed_defaults(rank).data_layout) axes.emplace(c, Dim(1));
  if (!parsed || has_axes(*parsed, axes)) return layout;
  return attribute_error(
      fmt::format("{}=\"{}\" must have the axes of {}", attribute, text, packed_defaults(rank).data_layout));
}

// Compares a weight that is stored in its layout with the data's channels, and takes from it the output channels and
// taps that the attributes leave out.
Failure complete(ConvAttrs& a, const Dim& channels, const TensorType& weight) {
  const auto layout = parse_block_layout("kernel_layout", a.kernel_layout);
  if (const auto* e = std::get_if<TypeError>(&layout)) return *e;
  const auto parts = axis_sizes(a.kernel_layout, std::get<BlockLayout>(layout), weight.shape, "weight");
  if (const auto* e = std::get_if<TypeError>(&parts)) return *e;
  const AxisSizes& sizes = std::get<AxisSizes>(parts);
  if (!has_axes(std::get<BlockLayout>(layout), {{'O', 1}, {'I', 1}, {'H', 1}, {'W', 1}}))
    return attribute_error(fmt::format("kernel_layout=\"{}\" must have the axes of OIHW", a.kernel_layout));
  if (auto e = check_equal(sizes.at('I') * Dim(a.groups), "the input channels of the weight times groups", channels,
                           "the channels of the data"))
    return e;
  if (!a.channels) a.channels = sizes.at('O').constant();
  const auto height = sizes.at('H').constant(), width = sizes.at('W').constant();
  if (!a.kernel_size && height && width) a.kernel_size = {*height, *width};
  return std::nullopt;
}

TypeResult type_of_packed_conv(ConvAttrs a, const Operands& in, int rank, bool has_weight_in_layout) {
  if (auto e = first_of({check_type(in[0], "data", types::number), check_type(in[1], "weight", types::number),
                         check_positive("groups", {a.groups})}))
    return *e;
  const auto data = image_layout("data_layout", a.data_layout, rank),
             result = image_layout("out_layout", a.out_layout.empty() ? a.data_layout : a.out_layout, rank);
  for (const auto* layout : {&data, &result})
    if (const auto* e = std::get_if<TypeError>(layout)) return *e;
  const auto sizes = axis_sizes(a.data_layout, std::get<BlockLayout>(data), in[0].shape, "data");
  if (const auto* e = std::get_if<TypeError>(&sizes)) return *e;
  if (has_weight_in_layout)
    if (auto e = complete(a, std::get<AxisSizes>(sizes).at('C'), in[1])) return *e;
  if (!a.channels) return attribute_error("attribute 'channels' is missing");
  if (!a.kernel_size || std::cmp_not_equal(a.kernel_size->size(), rank))
    return attribute_error(fmt::format("kernel_size must have {} numbers", rank));
  const auto windows = make_windows(*a.kernel_size, a.strides, a.dilation, a.padding);
  if (const auto* e = std::get_if<TypeError>(&windows)) return *e;
  AxisSizes convolved = std::get<AxisSizes>(sizes);
  convolved['C'] = *a.channels;
  for (int k = 0; k < rank; ++k) {
    Dim& size = convolved[packed_defaults(rank).data_layout[static_cast<size_t>(k) + 2]];
    const auto count = window_count(size, std::get<0>(windows)[static_cast<size_t>(k)], false, k);
    if (const auto* e = std::get_if<TypeError>(&count)) return *e;
    size = std::get<Dim>(count);
  }
  return tensor_result(shape_in_blocks(std::get<BlockLayout>(result), convolved), a.out_dtype.value_or(in[0].dtype));
}

enum class WeightIs : uint8_t { in_layout, transformed, in_tiles };  // in tiles of Winograd convolutions

void add_conv(OperatorTable& table, const std::string& name, const char* summary, int rank, WeightIs weight) {
  using A = PackedConvAttrs;
  std::vector<Field<A>> fields = {{"strides", &A::strides, "step between windows, per spatial axis"},
                                  {"padding", &A::padding, "zeros around the data"},
                                  {"dilation", &A::dilation, "step between the taps of a window"},
                                  {"groups", &A::groups, "the number of independent groups of channels"},
                                  {"channels", &A::channels, "number of output channels"},
                                  {"kernel_size", &A::kernel_size, "taps per spatial axis"},
                                  {"data_layout", &A::data_layout, "axes of the data, with blocks"},
                                  {"kernel_layout", &A::kernel_layout, "axes of the weight, with blocks"},
                                  {"out_layout", &A::out_layout, "axes of the result; the data's if empty"},
                                  {"out_dtype", &A::out_dtype, "the result's element type; the data's if None"}};
  if (weight == WeightIs::in_tiles) fields.push_back({"tile_size", &A::tile_size, "results of a tile", true});
  table.add<A>({.name = name,
                .summary = summary,
                .defaults = packed_defaults(rank),
                .attributes = fields,
                .arguments = {"data", "weight"},
                .type = [=](const A& a, const Operands& in) -> TypeResult {
                  if (weight == WeightIs::in_tiles)
                    if (auto e = check_positive("tile_size", {a.tile_size})) return *e;
                  return type_of_packed_conv(a, in, rank, weight == WeightIs::in_layout);
                }});
}

// ---- weights of convolutions

struct TileAttrs {
  int64_t tile_size = 0, tile_N = 0, tile_K = 0, convolution_algorithm = 0;
  std::optional<DType> out_dtype;
};

Failure check_weight(const TensorType& weight, int rank) {
  return first_of({check_type(weight, "weight", types::number), check_rank(weight, "weight", rank)});
}

TypeResult type_of_winograd_weight(const TileAttrs& a, const Operands& in) {
  if (auto e = first_of({check_weight(in[0], 4), check_positive("tile_size", {a.tile_size})})) return *e;
  const Shape& w = in[0].shape;
  const Dim more = a.tile_size - 1;
  return tensor_result({w[2] + more, w[3] + more, w[0], w[1]}, in[0].dtype);
}

// The depth is transformed, too, if it has three to seven taps.
TypeResult type_of_winograd_weight_3d(const TileAttrs& a, const Operands& in) {
  if (auto e = first_of({check_weight(in[0], 5), check_positive("tile_size", {a.tile_size})})) return *e;
  const Shape& w = in[0].shape;
  const Dim more = a.tile_size - 1;
  if (!w[2].is_constant())
    return TypeError{DiagnosticId::dynamic_shape, fmt::format("the depth {} must be known", w[2].str()), ""};
  const bool in_depth = w[2].value() > 2 && w[2].value() < 8;
  return tensor_result(in_depth ? Shape{w[2] + more, w[3] + more, w[4] + more, w[0], w[1]}
                                : Shape{w[3] + more, w[4] + more, w[2], w[0], w[1]},
                       in[0].dtype);
}

TypeResult type_of_nnpack_weight(const TileAttrs& a, const Operands& in) {
  if (auto e = check_weight(in[0], 4)) return *e;
  return tensor_result({in[0].shape[0], in[0].shape[1], 8, 8}, a.out_dtype.value_or(in[0].dtype));
}

// Tiles of the matrix of weights, (H W I) x O. The number of tiles along its rows is a multiple of four, and tiles of
// bytes are transposed.
TypeResult type_of_gemm_weight(const TileAttrs& a, const Operands& in) {
  if (auto e = first_of(
          {check_weight(in[0], 4), check_positive("tile_N", {a.tile_N}), check_positive("tile_K", {a.tile_K})}))
    return *e;
  constexpr int64_t most = 1 << 20;
  const Dim n = std::min(a.tile_N, most), k = std::min(a.tile_K, most), four = 4;
  const Dim rows = product(Shape(in[0].shape.begin(), in[0].shape.begin() + 3)), columns = in[0].shape[3];
  const Dim tiles_n = floor_div(columns + n - 1, n), tiles_k = four * floor_div(rows + four * k - 1, four * k);
  const bool are_bytes = is_integer(in[0].dtype) && bits(in[0].dtype) == 8;
  return tensor_result(are_bytes ? Shape{tiles_n, tiles_k, n, k} : Shape{tiles_n, tiles_k, k, n}, in[0].dtype);
}

void add_weight(OperatorTable& table, const std::string& name, const char* summary, const char* argument,
                std::vector<Field<TileAttrs>> fields, TypeResult (*type)(const TileAttrs&, const Operands&)) {
  table.add<TileAttrs>(
      {.name = name, .summary = summary, .attributes = std::move(fields), .arguments = {argument}, .type = type});
}

// ---- products

struct DensePackAttrs {
  std::optional<int64_t> units;
  std::string weight_layout = "NC";
  std::optional<DType> out_dtype;
};

// The weight has the axes [N / block] [K] [block], and maybe a block of K.
TypeResult type_of_dense_pack(const DensePackAttrs& a, const Operands& in) {
  if (auto e = first_of({check_type(in[0], "data", types::number), check_type(in[1], "weight", types::number)}))
    return *e;
  const size_t rank = in[1].shape.size();
  if (in[0].shape.empty()) return shape_error("data must have an axis");
  if (rank != 3 && rank != 4) return shape_error(fmt::format("weight must have 3 or 4 dimensions, found {}", rank));
  Shape shape = in[0].shape;
  shape.back() = in[1].shape[0] * in[1].shape[2];
  return tensor_result(shape, a.out_dtype.value_or(in[0].dtype));
}

void add_dense(OperatorTable& table, const std::string& name, const char* summary,
               const std::vector<std::string>& arguments) {
  using A = DensePackAttrs;
  table.add<A>({.name = name,
                .summary = summary,
                .attributes = {{"units", &A::units, "ignored: the weight has the number of columns"},
                               {"weight_layout", &A::weight_layout, "axes of the weight, with blocks"},
                               {"out_dtype", &A::out_dtype, "the result's element type; the data's if None"}},
                .arguments = arguments,
                .type = type_of_dense_pack});
}

}  // namespace

void packed_operands(OperatorTable& table) {
  const std::string conv2d = "nn.contrib_conv2d_", conv3d = "nn.contrib_conv3d_";
  add_conv(table, conv2d + "NCHWc", "a convolution of an image in blocks of channels", 2, WeightIs::in_layout);
  add_conv(table, "nn.contrib_depthwise_conv2d_NCHWc", "a convolution of each channel of an image in blocks of them", 2,
           WeightIs::in_layout);
  add_conv(table, conv2d + "gemm_without_weight_transform", "a convolution by tiles of a matrix of weights", 2,
           WeightIs::transformed);
  add_conv(table, conv2d + "winograd_without_weight_transform", "a convolution by transformed weights", 2,
           WeightIs::in_tiles);
  add_conv(table, conv3d + "winograd_without_weight_transform", "a convolution of volumes by transformed weights", 3,
           WeightIs::in_tiles);
  using A = TileAttrs;
  const std::vector<Field<A>> tile = {{"tile_size", &A::tile_size, "results of a tile", true}};
  add_weight(table, conv2d + "winograd_weight_transform", "weights of Winograd convolutions", "weight", tile,
             type_of_winograd_weight);
  add_weight(table, conv3d + "winograd_weight_transform", "weights of Winograd convolutions of volumes", "weight", tile,
             type_of_winograd_weight_3d);
  add_weight(table, conv2d + "winograd_nnpack_weight_transform", "weights of NNPACK's Winograd convolutions", "weight",
             {{"convolution_algorithm", &A::convolution_algorithm, "a number of NNPACK's, ignored", true},
              {"out_dtype", &A::out_dtype, "the result's element type; the weight's if None"}},
             type_of_nnpack_weight);
  add_weight(
      table, conv2d + "gemm_weight_transform", "tiles of a matrix of weights in HWIO", "weights",
      {{"tile_N", &A::tile_N, "output channels of a tile", true}, {"tile_K", &A::tile_K, "rows of a tile", true}},
      type_of_gemm_weight);
  add_dense(table, "nn.contrib_dense_pack", "a product with a weight in blocks of columns", {"data", "weight"});
  add_dense(table, "qnn.contrib_dense_pack", "a product of quantized numbers with a weight in blocks of columns",
            {"data", "weight", "input_zero_point", "weight_zero_point", "input_scale", "weight_scale"});
}

}  // namespace dlcc::relay::ops
