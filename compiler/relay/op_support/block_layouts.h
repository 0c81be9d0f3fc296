// Layouts of TVM that store axes in blocks. A layout names the axes of a tensor, outermost first: a capital letter is
// an axis, and a number with a small letter a block of that axis. NCHW4c is N x ceil(C / 4) x H x W x 4.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

// One axis of a tensor: what is left of an axis of the layout above its blocks, or a block of it.
struct AxisPart {
  char axis;      // a capital letter
  int64_t block;  // 0: what is left

  bool is_rest() const { return block == 0; }
};
using BlockLayout = std::vector<AxisPart>;
Checked<BlockLayout> parse_block_layout(const char* attribute, const std::string& text);

// The number of elements of each axis in one step along its rest: the product of its blocks.
std::map<char, int64_t> blocks_of(const BlockLayout&);

using AxisSizes = std::map<char, Dim>;  // by the letter of the axis

// The size of each axis of the layout in a tensor of this shape, which the messages call `what`. `text`: the layout's.
Checked<AxisSizes> axis_sizes(const std::string& text, const BlockLayout&, const Shape&, const char* what);

bool has_axes(const BlockLayout&, const AxisSizes&);  // whether it has these axes and no others
// The shape of a tensor whose axes have these sizes. The last block of an axis may be filled up.
Shape shape_in_blocks(const BlockLayout&, const AxisSizes&);

}  // namespace dlcc::relay
