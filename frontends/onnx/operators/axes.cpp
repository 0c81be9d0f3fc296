#include "frontends/onnx/operators/axes.h"

namespace dlcc::frontends::onnx {

Value with_axis_moved(Node& n, const Value& x, int64_t from, int64_t to) {
  if (from == to) return x;
  std::vector<int64_t> order;
  for (int64_t k = 0; k < x.rank(); ++k)
    if (k != from) order.push_back(k);
  order.insert(order.begin() + to, from);
  return n.call("transpose", {x}, {{"axes", order}});
}

}  // namespace dlcc::frontends::onnx
