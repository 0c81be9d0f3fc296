#include "tensor/dim_of.h"

namespace dlcc::tensor {

using ValueOf = std::function<std::optional<Dim>(const Var&)>;

static std::optional<Dim> dim_of(BinaryOp op, const Dim& a, const Dim& b) {
  switch (op) {
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

// Appends the summands of `factor` * e. False if one of them has no dim.
static bool add_summands(const Expr& e, int64_t factor, const ValueOf& value, std::vector<Dim>& summands) {
  if (const Binary* x = as<Binary>(e); x && (x->op == BinaryOp::add || x->op == BinaryOp::sub))
    return add_summands(x->a, factor, value, summands) &&
           add_summands(x->b, x->op == BinaryOp::add ? factor : -factor, value, summands);
  const auto d = dim_of(e, value);
  if (d) summands.push_back(*d * Dim(factor));
  return d.has_value();
}

std::optional<Dim> dim_of(const Expr& e, const ValueOf& value) {
  if (e.type() != dtype::i64) return std::nullopt;
  if (auto constant = constant_integer(e)) return Dim(*constant);
  if (const VarRef* ref = as<VarRef>(e)) return value(ref->var);
  const Binary* x = as<Binary>(e);
  if (!x) return std::nullopt;
  std::optional<Dim> d;
  if (x->op == BinaryOp::add || x->op == BinaryOp::sub) {
    std::vector<Dim> summands;
    if (add_summands(e, 1, value, summands)) d = sum(summands);
  } else {
    const auto a = dim_of(x->a, value), b = a ? dim_of(x->b, value) : std::nullopt;
    if (b) d = dim_of(x->op, *a, *b);
  }
  return d && !d->is_overflow() ? d : std::nullopt;
}

}  // namespace dlcc::tensor
