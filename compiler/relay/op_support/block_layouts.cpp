#include "relay/op_support/block_layouts.h"

#include "support/ascii.h"

namespace dlcc::relay {

Checked<BlockLayout> parse_block_layout(const char* attribute, const std::string& text) {
  auto failed = [&](const std::string& why) {
    return attribute_error(fmt::format("{}=\"{}\": {}", attribute, text, why), "a layout is written NCHW or NCHW4c");
  };
  BlockLayout layout;
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

std::map<char, int64_t> blocks_of(const BlockLayout& layout) {
  std::map<char, int64_t> blocks;
  for (const AxisPart& p : layout) {
    auto [product, added] = blocks.emplace(p.axis, 1);
    if (!p.is_rest()) product->second *= p.block;
  }
  return blocks;
}

Checked<AxisSizes> axis_sizes(const std::string& text, const BlockLayout& layout, const Shape& shape,
                              const char* what) {
  if (layout.size() != shape.size())
    return shape_error(fmt::format("layout {} has {} axes, the {} {}", text, layout.size(), what, shape.size()));
  const std::map<char, int64_t> blocks = blocks_of(layout);
  AxisSizes sizes;
  for (size_t k = 0; k < layout.size(); ++k) {
    if (layout[k].is_rest())
      sizes.emplace(layout[k].axis, shape[k] * Dim(blocks.at(layout[k].axis)));
    else if (auto e = check_equal(shape[k], fmt::format("axis {}", k), Dim(layout[k].block), "its block"))
      return *e;
  }
  return sizes;
}

bool has_axes(const BlockLayout& layout, const AxisSizes& sizes) {
  const std::map<char, int64_t> blocks = blocks_of(layout);
  return blocks.size() == sizes.size() &&
         std::ranges::all_of(blocks, [&](const auto& b) { return sizes.contains(b.first); });
}

Shape shape_in_blocks(const BlockLayout& layout, const AxisSizes& sizes) {
  const std::map<char, int64_t> blocks = blocks_of(layout);
  Shape shape;
  for (const AxisPart& p : layout) {
    const int64_t block = blocks.at(p.axis);
    shape.push_back(p.is_rest() ? floor_div(sizes.at(p.axis) + Dim(block - 1), Dim(block)) : Dim(p.block));
  }
  return shape;
}

}  // namespace dlcc::relay
