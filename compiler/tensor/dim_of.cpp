#include "tensor/dim_of.h"

namespace dlcc::tensor {

static std::optional<Dim> dim_of(BinaryOp op, const Dim& a, const Dim& b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::floor_div:
      return provably_le(1, b) ? std::optional(floor_div(a, b)) : std::nullopt;
    case BinaryOp::floor_mod:
      return provably_le(1, b) ? std::optional(floor_mod(a, b)) : std::nullopt;
    case BinaryOp::min:
      return min(a, b);
    case BinaryOp::max:
      return max(a, b);
    default:
      return std::nullopt;
  }
}

std::optional<Dim> dim_of(const Expr& e, const std::function<std::optional<Dim>(const Var&)>& value) {
  if (e.type() != dtype::i64) return std::nullopt;
  if (auto constant = constant_integer(e)) return Dim(*constant);
  if (const VarRef* ref = as<VarRef>(e)) return value(ref->var);
  const Binary* x = as<Binary>(e);
  const auto a = x ? dim_of(x->a, value) : std::nullopt;
  const auto b = a ? dim_of(x->b, value) : std::nullopt;
  const auto d = b ? dim_of(x->op, *a, *b) : std::nullopt;
  return d && !d->is_overflow() ? d : std::nullopt;
}

}  // namespace dlcc::tensor
