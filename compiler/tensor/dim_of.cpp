#include "tensor/dim_of.h"

namespace dlcc::tensor {

std::optional<Dim> dim_of(const Expr& e, const std::function<std::optional<Dim>(const Var&)>& value) {
  if (e.type() != dtype::i64) return std::nullopt;
  if (auto constant = constant_integer(e)) return Dim(*constant);
  if (const VarRef* ref = as<VarRef>(e)) return value(ref->var);
  const Binary* x = as<Binary>(e);
  const auto a = x ? dim_of(x->a, value) : std::nullopt;
  const auto b = a ? dim_of(x->b, value) : std::nullopt;
  if (!b) return std::nullopt;
  switch (x->op) {
    case BinaryOp::add:
      return *a + *b;
    case BinaryOp::sub:
      return *a - *b;
    case BinaryOp::mul:
      return *a * *b;
    case BinaryOp::floor_div:
      return floor_div(*a, *b);
    case BinaryOp::floor_mod:
      return *a - *b * floor_div(*a, *b);
    case BinaryOp::min:
      return min(*a, *b);
    case BinaryOp::max:
      return max(*a, *b);
    default:
      return std::nullopt;
  }
}

}  // namespace dlcc::tensor
