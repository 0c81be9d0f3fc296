// nn.space_to_depth, nn.depth_to_space, nn.space_to_batch_nd, nn.batch_to_space_nd, vision.yolo_reorg: blocks of
// spatial axes become channels or batches, and back.
#include <algorithm>

#include "relay/op_support/composition.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/indices.h"

namespace dlcc::relay::ops {

namespace {

struct SubPixelAttrs {
  int64_t block_size = 1;
  std::string layout = "NCHW", mode = "DCR";
};
struct BatchBlockAttrs {
  std::vector<int64_t> block_shape = {1, 1};
  AttrValue widths;  // paddings or crops
  double pad_value = 0;
};
struct YoloReorgAttrs {
  int64_t stride = 1;
};

// ---- blocks and channels

// The axes of an image: batch, channels, rows, columns.
struct Image {
  Value value;
  Dim batch, channels, rows, columns;
};

// The image with its channels as axis 1.
Image checked_image(const SubPixelAttrs& a, Composition& c) {
  Value x = c.operand(0);
  c.require(first_of({check_type(x.type, "data", types::movable), check_rank(x.type, "data", 4),
                      check_positive("block_size", {a.block_size})}));
  if (a.layout != "NCHW" && a.layout != "NHWC") c.require(check_layout("layout", a.layout, "NCHW"));
  if (!a.mode.empty() && a.mode != "DCR" && a.mode != "CRD")
    c.fail(attribute_error(fmt::format("mode must be \"DCR\" or \"CRD\", found \"{}\"", a.mode)));
  if (a.layout == "NHWC") x = c.transpose(x, {0, 3, 1, 2});
  return {x, x.shape()[0], x.shape()[1], x.shape()[2], x.shape()[3]};
}

Value in_layout(const SubPixelAttrs& a, Composition& c, const Value& x) {
  return a.layout == "NHWC" ? c.transpose(x, {0, 2, 3, 1}) : x;
}

void check_multiple(const Composition& c, const char* what, const Dim& size, const Dim& divisor) {
  if (!(floor_mod(size, divisor) == Dim(0)))
    c.fail(shape_error(fmt::format("{} must be a multiple of {}, found {}", what, divisor.str(), size.str())));
}

Value depth_to_space(const SubPixelAttrs& a, Composition& c) {
  const Image x = checked_image(a, c);
  const Dim b = a.block_size;
  check_multiple(c, "the number of channels", x.channels, b * b);
  const Dim channels = floor_div(x.channels, b * b);
  const bool depth_first = a.mode != "CRD";
  const Shape split = depth_first ? Shape{x.batch, b, b, channels, x.rows, x.columns}
                                  : Shape{x.batch, channels, b, b, x.rows, x.columns};
  const std::vector<int64_t> order =
      depth_first ? std::vector<int64_t>{0, 3, 4, 1, 5, 2} : std::vector<int64_t>{0, 1, 4, 2, 5, 3};
  const Value moved = c.transpose(c.reshape(x.value, split), order);
  return in_layout(a, c, c.reshape(moved, {x.batch, channels, x.rows * b, x.columns * b}));
}

Value space_to_depth(const SubPixelAttrs& a, Composition& c) {
  const Image x = checked_image(a, c);
  const Dim b = a.block_size;
  check_multiple(c, "the number of rows", x.rows, b);
  check_multiple(c, "the number of columns", x.columns, b);
  const Dim rows = floor_div(x.rows, b), columns = floor_div(x.columns, b);
  const Value split = c.reshape(x.value, {x.batch, x.channels, rows, b, columns, b});
  const Value moved = c.transpose(
      split, a.mode == "CRD" ? std::vector<int64_t>{0, 1, 3, 5, 2, 4} : std::vector<int64_t>{0, 3, 5, 1, 2, 4});
  return in_layout(a, c, c.reshape(moved, {x.batch, x.channels * b * b, rows, columns}));
}

// ---- blocks and batches

// The widths of the axes that have blocks, as pairs.
std::vector<std::vector<Dim>> pairs_of(const Composition& c, const char* what, const AttrValue& value, size_t count) {
  std::vector<std::vector<Dim>> pairs;
  const AttrList* list = std::get_if<AttrList>(&value.v);
  for (const AttrValue& item : list ? *list : AttrList{}) detail::from_value(item, pairs.emplace_back());
  if (pairs.size() != count || std::ranges::any_of(pairs, [](const auto& pair) { return pair.size() != 2; }))
    c.fail(attribute_error(fmt::format("{} must be a list of {} pairs (before, after)", what, count)));
  for (const std::vector<Dim>& pair : pairs)
    for (const Dim& width : pair)
      if (provably_lt(width, 0))
        c.fail(attribute_error(fmt::format("{} must not be negative, found {}", what, width.str())));
  return pairs;
}

void check_blocks(const BatchBlockAttrs& a, const Composition& c, const Value& x) {
  c.require(first_of({check_type(x.type, "data", types::movable), check_positive("block_shape", a.block_shape)}));
  if (static_cast<int>(a.block_shape.size()) >= x.rank())
    c.fail(attribute_error(
        fmt::format("block_shape has {} numbers, but the data has only {} axes", a.block_shape.size(), x.rank())));
}

Value space_to_batch(const BatchBlockAttrs& a, Composition& c) {
  Value x = c.operand(0);
  check_blocks(a, c, x);
  const size_t count = a.block_shape.size();
  AttrList widths = {std::vector<int64_t>{0, 0}};
  for (const std::vector<Dim>& pair : pairs_of(c, "paddings", a.widths, count))
    widths.emplace_back(sizes_attribute(pair));
  while (static_cast<int>(widths.size()) < x.rank()) widths.emplace_back(std::vector<int64_t>{0, 0});
  x = c.call("nn.pad", {x, c.number(x.dtype(), a.pad_value)}, {{"pad_width", widths}});
  Shape split = {x.shape()[0]}, merged = {x.shape()[0]};
  std::vector<int64_t> order;
  for (size_t k = 0; k < count; ++k) {
    const Dim block = a.block_shape[k], size = x.shape()[k + 1];
    check_multiple(c, "the padded size", size, a.block_shape[k]);
    split.push_back(floor_div(size, block));
    split.push_back(block);
    merged[0] = merged[0] * block;
    merged.push_back(floor_div(size, block));
    order.push_back(static_cast<int64_t>(2 * k + 2));
  }
  order.push_back(0);
  for (size_t k = 0; k < count; ++k) order.push_back(static_cast<int64_t>(2 * k + 1));
  for (size_t k = count + 1; k < x.shape().size(); ++k) {
    order.push_back(static_cast<int64_t>(split.size()));
    split.push_back(x.shape()[k]);
    merged.push_back(x.shape()[k]);
  }
  return c.reshape(c.transpose(c.reshape(x, split), order), merged);
}

Value batch_to_space(const BatchBlockAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  check_blocks(a, c, x);
  const size_t count = a.block_shape.size();
  Shape split(a.block_shape.begin(), a.block_shape.end());
  const Dim blocks = product(split);
  check_multiple(c, "the batch", x.shape()[0], blocks);
  Shape merged = {floor_div(x.shape()[0], blocks)};
  split.push_back(merged[0]);
  std::vector<int64_t> order = {static_cast<int64_t>(count)};
  for (size_t k = 0; k < count; ++k) {
    split.push_back(x.shape()[k + 1]);
    merged.push_back(x.shape()[k + 1] * Dim(a.block_shape[k]));
    order.push_back(static_cast<int64_t>(count + 1 + k));
    order.push_back(static_cast<int64_t>(k));
  }
  for (size_t k = count + 1; k < x.shape().size(); ++k) {
    order.push_back(static_cast<int64_t>(split.size()));
    split.push_back(x.shape()[k]);
    merged.push_back(x.shape()[k]);
  }
  const Value whole = c.reshape(c.transpose(c.reshape(x, split), order), merged);
  Shape begin, end;
  const auto crops = pairs_of(c, "crops", a.widths, count);
  for (size_t k = 0; k < merged.size(); ++k) {
    const bool cropped = k > 0 && k <= count;
    if (cropped && provably_lt(merged[k], crops[k - 1][0] + crops[k - 1][1]))
      c.fail(attribute_error(fmt::format("crops remove more than the {} elements of axis {}", merged[k].str(), k)));
    begin.push_back(cropped ? crops[k - 1][0] : Dim(0));
    end.push_back(cropped ? merged[k] - crops[k - 1][1] : merged[k]);
  }
  return c.call("strided_slice", {whole}, {{"begin", sizes_attribute(begin)}, {"end", sizes_attribute(end)}});
}

// ---- yolo_reorg

// Darknet's reorganization: the elements of an image of fewer channels and more pixels, in an order of their own.
Value yolo_reorganized(const YoloReorgAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  c.require(first_of({check_type(x.type, "data", types::movable), check_rank(x.type, "data", 4),
                      check_positive("stride", {a.stride})}));
  const Dim batch = x.shape()[0], channels = x.shape()[1], rows = x.shape()[2], columns = x.shape()[3];
  const Dim s = a.stride;
  check_multiple(c, "the number of channels", channels, s * s);
  check_multiple(c, "the number of rows", rows, s);
  check_multiple(c, "the number of columns", columns, s);
  const Dim few = floor_div(channels, s * s);
  const Value image = c.reshape(x, {batch, few, rows * s, columns * s});
  const Value moved = c.compute(x.dtype(), x.shape(), {image}, [few, s](const std::vector<Tensor>& args, Index i) {
    const Expr offset = floor_div(i[1], Expr(few)), step(s);
    return stored(args[0], {i[0], floor_mod(i[1], Expr(few)), i[2] * step + floor_div(offset, step),
                            i[3] * step + floor_mod(offset, step)});
  });
  return c.reshape(moved, {batch, channels * s * s, floor_div(rows, s), floor_div(columns, s)});
}

void add_sub_pixels(OperatorTable& table, const char* name, const char* summary,
                    Value (*make)(const SubPixelAttrs&, Composition&)) {
  using A = SubPixelAttrs;
  table.add(composed<A>({.name = name,
                         .summary = summary,
                         .attributes = {{"block_size", &A::block_size, "rows and columns of a block"},
                                        {"layout", &A::layout, "\"NCHW\" or \"NHWC\""},
                                        {"mode", &A::mode,
                                         "\"DCR\" or \"\": the position in the block is the outer part of the channel; "
                                         "\"CRD\": the inner part"}},
                         .arguments = {"data"}},
                        make));
}

}  // namespace

void blocks(OperatorTable& table) {
  add_sub_pixels(table, "nn.depth_to_space", "channels become blocks of pixels", depth_to_space);
  add_sub_pixels(table, "nn.space_to_depth", "blocks of pixels become channels", space_to_depth);
  using B = BatchBlockAttrs;
  table.add(composed<B>(
      {.name = "nn.space_to_batch_nd",
       .summary = "positions in the blocks of the axes behind the batch become batches",
       .attributes = {{"block_shape", &B::block_shape, "sizes of a block"},
                      {"paddings", &B::widths, "per axis with blocks: elements added before and after", true},
                      {"pad_value", &B::pad_value, "the value of added elements"}},
       .arguments = {"data"},
       .sample_shapes = {{1, 4, 4}},
       .sample_attrs = {{"paddings", AttrList{std::vector<int64_t>{0, 0}, std::vector<int64_t>{0, 0}}}}},
      space_to_batch));
  table.add(composed<B>({.name = "nn.batch_to_space_nd",
                         .summary = "batches become positions in the blocks of the axes behind the batch",
                         .attributes = {{"block_shape", &B::block_shape, "sizes of a block"},
                                        {"crops", &B::widths, "per axis with blocks: elements removed", true}},
                         .arguments = {"data"},
                         .sample_shapes = {{1, 4, 4}},
                         .sample_attrs = {{"crops", AttrList{std::vector<int64_t>{0, 0}, std::vector<int64_t>{0, 0}}}}},
                        batch_to_space));
  table.add(
      composed<YoloReorgAttrs>({.name = "vision.yolo_reorg",
                                .summary = "blocks of pixels become channels, in the order of darknet",
                                .attributes = {{"stride", &YoloReorgAttrs::stride, "rows and columns of a block"}},
                                .arguments = {"data"},
                                .gradient = gradient_of_movement},
                               yolo_reorganized));
}

}  // namespace dlcc::relay::ops
