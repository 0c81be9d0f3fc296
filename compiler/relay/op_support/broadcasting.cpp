// Shapes and indices of broadcast operands.
#include "relay/op_support/broadcasting.h"

namespace dlcc::relay {

Checked<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  size_t lead = longer.size() - shorter.size();
  Shape result = longer;
  for (size_t k = 0; k < shorter.size(); ++k) {
    Dim& d = result[lead + k];
    if (d == shorter[k] || shorter[k] == Dim(1)) continue;
    if (d == Dim(1)) {
      d = shorter[k];
      continue;
    }
    bool symbolic = !d.is_constant() || !shorter[k].is_constant();
    return shape_error(fmt::format("shapes {} and {} cannot be broadcast: sizes {} and {} differ and neither is 1",
                                   str(a), str(b), d.str(), shorter[k].str()),
                       symbolic ? "give both dimensions the same symbol, or check one with match_cast"
                                : "shapes are aligned at their last dimensions; reshape or expand_dims one of them");
  }
  return result;
}

Failure check_broadcasts_to(const Shape& from, const Shape& to) {
  bool fits = from.size() <= to.size();
  for (size_t k = 0; fits && k < from.size(); ++k) {
    const Dim& target = to[to.size() - from.size() + k];
    fits = from[k] == target || from[k] == Dim(1);
  }
  if (fits) return std::nullopt;
  return shape_error(fmt::format("shape {} cannot be broadcast to {}", str(from), str(to)),
                     "aligned at the last dimension, each size must be equal or 1");
}

TypeResult broadcast_result(const Operands& in, const TypeClass& types, DType result) {
  if (auto e = first_of({check_type(in[0], "lhs", types), check_same_type(in[0], "lhs", in[1], "rhs")})) return *e;
  Checked<Shape> shape = broadcast(in[0].shape, in[1].shape);
  if (auto* e = std::get_if<TypeError>(&shape)) return *e;
  return tensor_result(std::get<Shape>(shape), result);
}

std::vector<Expr> broadcast_index(const Shape& operand, const Shape& result, Index result_index) {
  std::vector<Expr> index;
  size_t lead = result.size() - operand.size();
  for (size_t k = 0; k < operand.size(); ++k)
    index.push_back(operand[k] == result[lead + k] ? result_index[lead + k] : Expr(0));
  return index;
}

}  // namespace dlcc::relay
