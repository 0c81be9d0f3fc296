// Operators that rearrange elements: GatherElements, GatherND, DepthToSpace, SpaceToDepth, CenterCropPad,
// ReverseSequence, Col2Im.
#include "frontends/onnx/operators/axes.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

Values convert_gather_elements(Node& n) {
  return {n.call("gather", {n.in(0), n.in(1)}, {{"axis", n.integer("axis", 0)}})};
}

// The last axis of the indices holds an index tuple; Relay has it first.
Values convert_gather_nd(Node& n) {
  const Value& indices = n.in(1);
  const int64_t rank = indices.rank();
  if (!n.check(rank >= 1, DiagnosticId::shape_mismatch, "indices must have at least one axis")) return {};
  return {n.call("gather_nd", {n.in(0), with_axis_moved(n, indices, rank - 1, 0)},
                 {{"batch_dims", n.integer("batch_dims", 0)}})};
}

// ---- blocks of pixels as channels ---------------------------------------------------------------------------------

// The attribute `blocksize`, for data of four axes.
std::optional<int64_t> block_size(Node& n) {
  const int64_t size = n.required_integer("blocksize");
  n.check(n.in(0).rank() == 4, DiagnosticId::shape_mismatch,
          fmt::format("input must have 4 axes, found {}", n.in(0).rank()));
  n.check(n.failed() || size >= 1, DiagnosticId::bad_attribute,
          fmt::format("attribute 'blocksize' must be at least 1, found {}", size));
  return n.failed() ? std::nullopt : std::optional(size);
}

bool check_divisible(Node& n, const Dim& size, int64_t divisor, const char* what) {
  const Dim rest = floor_mod(size, divisor);
  return n.check(!rest.is_constant() || rest == Dim(0), DiagnosticId::shape_mismatch,
                 fmt::format("the {} {} is not divisible by {}", what, size.str(), divisor));
}

// Whether a pixel of the block follows its channel in the depth, as the attribute `mode` says.
bool depth_first(Node& n) {
  const std::string mode = n.text("mode", "DCR");
  n.check(mode == "DCR" || mode == "CRD", DiagnosticId::bad_attribute, fmt::format("mode is '{}'", mode),
          "it is DCR (depth, column, row) or CRD");
  return mode == "CRD";
}

Values convert_depth_to_space(Node& n) {
  auto b = block_size(n);
  const bool crd = depth_first(n);
  if (n.failed()) return {};
  const Shape& s = n.in(0).type.shape;
  if (!check_divisible(n, s[1], *b * *b, "number of channels")) return {};
  const Dim depth = floor_div(s[1], *b * *b);
  const Shape split = crd ? Shape{s[0], depth, *b, *b, s[2], s[3]} : Shape{s[0], *b, *b, depth, s[2], s[3]};
  const std::vector<int64_t> order =
      crd ? std::vector<int64_t>{0, 1, 4, 2, 5, 3} : std::vector<int64_t>{0, 3, 4, 1, 5, 2};
  Value blocks = n.call("transpose", {n.reshape(n.in(0), split)}, {{"axes", order}});
  return {n.reshape(blocks, {s[0], depth, s[2] * Dim(*b), s[3] * Dim(*b)})};
}

Values convert_space_to_depth(Node& n) {
  auto b = block_size(n);
  const bool crd = n.opset() >= 28 && depth_first(n);
  if (n.failed()) return {};
  const Shape& s = n.in(0).type.shape;
  if (!check_divisible(n, s[2], *b, "height") || !check_divisible(n, s[3], *b, "width")) return {};
  const Dim height = floor_div(s[2], *b), width = floor_div(s[3], *b);
  Value split = n.reshape(n.in(0), {s[0], s[1], height, *b, width, *b});
  const std::vector<int64_t> order =
      crd ? std::vector<int64_t>{0, 1, 3, 5, 2, 4} : std::vector<int64_t>{0, 3, 5, 1, 2, 4};
  Value blocks = n.call("transpose", {split}, {{"axes", order}});
  return {n.reshape(blocks, {s[0], s[1] * Dim(*b * *b), height, width})};
}

// ---- others -------------------------------------------------------------------------------------------------------

// Crops or pads each axis to the given size, half of the difference (rounded toward zero) at its start.
Values convert_center_crop_pad(Node& n) {
  const Value& x = n.in(0);
  auto axes = axes_attribute(n, x.rank());
  if (!axes || !check_length(n, 1, axes->size())) return {};
  const Value have = sizes_of(n, x);
  Value excess = n.call("subtract", {spread(n, n.cast(n.in(1), dtype::i64), *axes, have), have});
  Value before = n.call("divide", {excess, n.scalar(dtype::i64, 2)});
  auto column = [&](const Value& list) { return n.call("expand_dims", {list}, {{"axis", 1}}); };
  Value widths = n.call("concatenate", {column(before), column(n.call("subtract", {excess, before}))}, {{"axis", 1}});
  return {n.call("nn.pad", {x, n.scalar(x.type.dtype, 0), widths})};
}

Values convert_reverse_sequence(Node& n) {
  return {n.call("reverse_sequence", {n.in(0), n.in(1)},
                 {{"seq_axis", n.integer("time_axis", 0)}, {"batch_axis", n.integer("batch_axis", 1)}})};
}

Values convert_col2im(Node& n) {
  const Value& image = n.in(1);
  auto rank = image.rank() == 1 ? image.type.shape[0].constant() : std::nullopt;
  if (!n.check(rank && *rank <= 16, DiagnosticId::shape_mismatch,
               fmt::format("image_shape must be a list of known length, found {}", describe(image.type))))
    return {};
  const auto count = static_cast<size_t>(*rank);
  return {n.call("nn.col2im", {n.in(0), image, n.in(2)},
                 {{"strides", n.integers("strides", count, 1)},
                  {"padding", n.integers("pads", 2 * count, 0)},
                  {"dilation", n.integers("dilations", count, 1)}})};
}

}  // namespace

void add_rearrangement(Table& table) {
  table.add({
      {"GatherElements", 11, "data indices", 2, 2, 1, convert_gather_elements},
      {"GatherND", 11, "data indices", 2, 2, 1, convert_gather_nd},
      {"DepthToSpace", 1, "input", 1, 1, 1, convert_depth_to_space},
      {"SpaceToDepth", 1, "input", 1, 1, 1, convert_space_to_depth},
      {"CenterCropPad", 18, "input_data shape", 2, 2, 1, convert_center_crop_pad},
      {"ReverseSequence", 10, "input sequence_lens", 2, 2, 1, convert_reverse_sequence, true},
      {"Col2Im", 18, "input image_shape block_shape", 3, 3, 1, bools_as(dtype::i32, convert_col2im)},
  });
  table.only_if("GatherND", "the number of axes that indices name is known at compile time");
}

}  // namespace dlcc::frontends::onnx
