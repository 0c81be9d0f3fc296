// nn.fifo_buffer: the latest elements of a sequence that arrives in pieces.
#include "relay/op_support/composition.h"

namespace dlcc::relay::ops {

namespace {

struct FifoAttrs {
  int64_t axis = 0;
};

Value latest(const FifoAttrs& a, Composition& c) {
  const Value x = c.operand(0), buffer = c.operand(1);
  c.require(first_of({check_same_type(x.type, "data", buffer.type, "buffer"),
                      check_rank(buffer.type, "buffer", x.rank()), check_axis("axis", a.axis, x.rank())}));
  const int axis = wrap_axis(a.axis, x.rank());
  if (provably_lt(buffer.shape()[axis], x.shape()[axis]))
    c.fail(shape_error(fmt::format("the buffer has {} elements along axis {}, the data {}", buffer.shape()[axis].str(),
                                   axis, x.shape()[axis].str())));
  const Value rest = c.call("strided_slice", {buffer},
                            {{"begin", sizes_attribute({x.shape()[axis]})},
                             {"end", sizes_attribute({buffer.shape()[axis]})},
                             {"axes", std::vector<int64_t>{axis}}});
  return c.reshape(c.call("concatenate", {rest, x}, {{"axis", axis}}), buffer.shape());
}

}  // namespace

void fifo_buffer(OperatorTable& table) {
  table.add(composed<FifoAttrs>({.name = "nn.fifo_buffer",
                                 .summary = "the buffer without its first elements, followed by the data",
                                 .attributes = {{"axis", &FifoAttrs::axis, "the axis of the sequence"}},
                                 .arguments = {"data", "buffer"},
                                 .sample_shapes = {{1, 2}, {4, 2}}},
                                latest));
}

}  // namespace dlcc::relay::ops
