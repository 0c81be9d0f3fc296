// layout_transform: stores an image or weights in blocks (op_support/block_layouts.h).
#include "relay/op_support/block_layouts.h"
#include "relay/op_support/elements.h"
#include "relay/op_support/gradients.h"
#include "support/ascii.h"

namespace dlcc::relay::ops {

namespace {

struct LayoutTransformAttrs {
  std::string src_layout, dst_layout;
};

TypeResult type_of_transform(const LayoutTransformAttrs& a, const Operands& in) {
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  const auto source = parse_block_layout("src_layout", a.src_layout),
             target = parse_block_layout("dst_layout", a.dst_layout);
  for (const auto* layout : {&source, &target})
    if (const TypeError* e = std::get_if<TypeError>(layout)) return *e;
  const auto sizes = axis_sizes(a.src_layout, std::get<BlockLayout>(source), in[0].shape, "data");
  if (const auto* e = std::get_if<TypeError>(&sizes)) return *e;
  if (!has_axes(std::get<BlockLayout>(target), std::get<AxisSizes>(sizes)))
    return attribute_error(fmt::format("{} and {} have different axes", a.src_layout, a.dst_layout));
  return tensor_result(shape_in_blocks(std::get<BlockLayout>(target), std::get<AxisSizes>(sizes)), in[0].dtype);
}

// Elements beyond the end of an axis, in its last block, are 0.
TensorFunction define_transform(const LayoutTransformAttrs& a, const Operands& in) {
  Definition d("layout_transform");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const auto from = std::get<BlockLayout>(parse_block_layout("", a.src_layout)),
             to = std::get<BlockLayout>(parse_block_layout("", a.dst_layout));
  d.result("result", x.type(), shape_in(type_of_transform(a, in)), [&](Index i) {
    std::map<char, Expr> position;  // along each axis of the layout
    for (size_t k = 0; k < to.size(); ++k) {
      auto [at, first] = position.emplace(to[k].axis, i[k]);
      if (!first) at->second = at->second * Expr(to[k].block) + i[k];
    }
    std::map<char, int64_t> below = blocks_of(from);  // elements in one step along the current part
    std::vector<Expr> at;
    for (const AxisPart& p : from) {
      int64_t& step = below.at(p.axis);
      if (!p.is_rest()) step /= p.block;
      const Expr steps = step == 1 ? position.at(p.axis) : floor_div(position.at(p.axis), Expr(step));
      at.push_back(p.is_rest() ? steps : floor_mod(steps, Expr(p.block)));
    }
    return tensor::load(x.buffer(), at, tensor::literal(x.type(), int64_t{0}));
  });
  return d.finish();
}

// ---- auto_scheduler_layout_transform, which has a type only

// The layouts of TVM's schedules name all sizes: "1N4H4W8C" has the shape (1, 4, 4, 8).
TypeResult type_of_scheduled(const LayoutTransformAttrs& a, const Operands& in) {
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  Shape shape;
  int64_t size = 0;
  constexpr int64_t most = tensor::max_elements;  // larger sizes are clamped
  for (char c : a.dst_layout) {
    const bool is_axis = is_letter(c);
    if (!is_digit(c) && !(is_axis && size > 0))
      return attribute_error(fmt::format("dst_layout=\"{}\": '{}' is no axis with a size", a.dst_layout, c),
                             "a layout is written 1N4H4W8C");
    if (is_axis) shape.emplace_back(size);
    size = is_digit(c) ? std::min(10 * size + (c - '0'), most) : 0;
  }
  if (size > 0) return attribute_error(fmt::format("dst_layout=\"{}\": a number is followed by no axis", a.dst_layout));
  return tensor_result(shape, in[0].dtype);
}

}  // namespace

void layout_transform(OperatorTable& table) {
  table.add<LayoutTransformAttrs>({
      .name = "layout_transform",
      .summary = "the data in another order of axes and blocks; a block that ends beyond its axis has zeros there",
      .attributes = {{"src_layout", &LayoutTransformAttrs::src_layout, "the axes of the data, e.g. NCHW", true},
                     {"dst_layout", &LayoutTransformAttrs::dst_layout, "the axes of the result, e.g. NCHW4c", true}},
      .arguments = {"data"},
      .type = type_of_transform,
      .compute = define_transform,
      .gradient =
          [](const LayoutTransformAttrs& a, CallGradient& g) {
            const Term back =
                g.gradient().map("layout_transform", {{"src_layout", a.dst_layout}, {"dst_layout", a.src_layout}});
            if (back.shape() != g.operands()[0].type.shape) g.refuse("a block ends beyond its axis");
            g.add(0, back);
          },
  });
  table.add<LayoutTransformAttrs>({
      .name = "auto_scheduler_layout_transform",
      .summary = "the data in the layout of one of TVM's schedules",
      .attributes = {{"src_layout", &LayoutTransformAttrs::src_layout, "the axes of the data with their sizes", true},
                     {"dst_layout", &LayoutTransformAttrs::dst_layout, "those of the result, e.g. 1N4H4W8C", true}},
      .arguments = {"data"},
      .type = type_of_scheduled,
  });
}

}  // namespace dlcc::relay::ops
