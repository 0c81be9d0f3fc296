// layout_transform: stores an image or weights in blocks. A layout names the axes of a tensor, outermost first: a
// capital letter is an axis, and a number with a small letter a block of that axis. NCHW4c is N x ceil(C/4) x H x W
// x 4.
#include <map>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"
#include "support/ascii.h"

namespace dlcc::relay::ops {

namespace {

struct LayoutTransformAttrs {
  std::string src_layout, dst_layout;
};

// One axis of a tensor: what is left of an axis of the layout above its blocks, or a block of it.
struct Part {
  char axis;
  int64_t block;  // 0: what is left

  bool is_rest() const { return block == 0; }
};
using Layout = std::vector<Part>;

Checked<Layout> parse(const char* attribute, const std::string& text) {
  auto failed = [&](const std::string& why) {
    return attribute_error(fmt::format("{}=\"{}\": {}", attribute, text, why), "a layout is written NCHW or NCHW4c");
  };
  Layout layout;
  std::string seen;
  std::map<char, int64_t> blocks;  // elements of the blocks so far, at most tensor::max_elements
  int64_t block = 0;
  for (char c : text) {
    constexpr int64_t most = 1 << 20;  // larger numbers are clamped, so that sizes do not overflow
    const bool is_axis = is_upper(c), is_block = is_lower(c);
    const char axis = to_upper(c);
    if (is_axis) blocks[axis] = 1;
    const bool is_known = seen.find(axis) != std::string::npos;
    if (!is_axis && !is_block && !is_digit(c)) return failed(fmt::format("'{}' is no axis", c));
    if (is_axis && (block > 0 || is_known)) return failed(fmt::format("axis {} appears twice or has a number", c));
    if (is_block && (block == 0 || !is_known))
      return failed(fmt::format("block {} needs a size and its axis before it", c));
    if (is_digit(c)) {
      block = std::min(10 * block + (c - '0'), most);
      continue;
    }
    layout.push_back({axis, is_block ? block : 0});
    if (is_axis) seen += c;
    if (is_block && (blocks[axis] *= block) > tensor::max_elements)
      return failed(fmt::format("a block of axis {} has too many elements", axis));
    block = 0;
  }
  if (block > 0) return failed("a number is followed by no axis");
  return layout;
}

// The number of elements of each axis in one step along its rest: the product of its blocks.
std::map<char, int64_t> blocks_of(const Layout& layout) {
  std::map<char, int64_t> blocks;
  for (const Part& p : layout) {
    auto [product, added] = blocks.emplace(p.axis, 1);
    if (!p.is_rest()) product->second *= p.block;
  }
  return blocks;
}

// The size of each axis of the layout in data of this shape.
std::map<char, Dim> sizes_of(const Layout& layout, const Shape& data) {
  std::map<char, int64_t> blocks = blocks_of(layout);
  std::map<char, Dim> sizes;
  for (size_t k = 0; k < layout.size(); ++k)
    if (layout[k].is_rest()) sizes.emplace(layout[k].axis, data[k] * Dim(blocks.at(layout[k].axis)));
  return sizes;
}

TypeResult type_of_transform(const LayoutTransformAttrs& a, const Operands& in) {
  if (auto e = check_type(in[0], "data", types::movable)) return *e;
  Checked<Layout> source = parse("src_layout", a.src_layout), target = parse("dst_layout", a.dst_layout);
  for (const Checked<Layout>* layout : {&source, &target})
    if (const TypeError* e = std::get_if<TypeError>(layout)) return *e;
  const Layout& from = std::get<Layout>(source);
  if (from.size() != in[0].shape.size())
    return shape_error(
        fmt::format("layout {} has {} axes, the data {}", a.src_layout, from.size(), in[0].shape.size()));
  for (size_t k = 0; k < from.size(); ++k)
    if (!from[k].is_rest())
      if (auto e = check_equal(in[0].shape[k], fmt::format("axis {}", k), Dim(from[k].block), "its block")) return *e;
  const std::map<char, Dim> sizes = sizes_of(from, in[0].shape);
  const std::map<char, int64_t> blocks = blocks_of(std::get<Layout>(target));
  Shape shape;
  for (const Part& p : std::get<Layout>(target)) {
    auto size = sizes.find(p.axis);
    if (size == sizes.end() || blocks.size() != sizes.size())
      return attribute_error(fmt::format("{} and {} have different axes", a.src_layout, a.dst_layout));
    const int64_t block = blocks.at(p.axis);
    shape.push_back(p.is_rest() ? floor_div(size->second + Dim(block - 1), Dim(block)) : Dim(p.block));
  }
  return tensor_result(shape, in[0].dtype);
}

// Elements beyond the end of an axis, in its last block, are 0.
TensorFunction define_transform(const LayoutTransformAttrs& a, const Operands& in) {
  Definition d("layout_transform");
  Tensor x = d.input("data", in[0].dtype, in[0].shape);
  const Layout from = std::get<Layout>(parse("", a.src_layout)), to = std::get<Layout>(parse("", a.dst_layout));
  d.result("result", x.type(), shape_in(type_of_transform(a, in)), [&](Index i) {
    std::map<char, Expr> position;  // along each axis of the layout
    for (size_t k = 0; k < to.size(); ++k) {
      auto [at, first] = position.emplace(to[k].axis, i[k]);
      if (!first) at->second = at->second * Expr(to[k].block) + i[k];
    }
    std::map<char, int64_t> below = blocks_of(from);  // elements in one step along the current part
    std::vector<Expr> at;
    for (const Part& p : from) {
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
